import { type ReactNode, useEffect, useState } from 'react'
import { explain } from '../explain.ts'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

interface EmptyProps {
  readonly icon: IconName
  readonly title: string
  /** What this page is for, and what to do. */
  readonly children?: ReactNode
  readonly action?: ReactNode
}

/** Shown if there is no data yet. */
export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  )
}

/** The error of a whole page or panel. */
export function Failed({ error, retry }: { readonly error: unknown; retry?(): void }) {
  const texts = useTexts()
  return (
    <div className="empty bad" role="alert">
      <Icon name="warn" size={28} />
      <h2>{texts.errors.title}</h2>
      <p>{explain(error, texts)}</p>
      {retry !== undefined && <Button onClick={retry}>{texts.errors.retry}</Button>}
    </div>
  )
}

interface Query {
  readonly data: unknown
  readonly error: unknown
  refetch(): unknown
}

/**
 * The state of a query: an error, loading, or nothing if all is well. Data stays on the page when a refetch fails: the
 * user may be reading it, or typing beside it.
 */
export function QueryState({ query: { data, error, refetch } }: { readonly query: Query }) {
  const texts = useTexts()
  const retry = () => void refetch()
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={retry} />
  if (error === null) return null
  return (
    <p className="notice warn" role="status">
      {texts.errors.outdated} {explain(error, texts)} <Button onClick={retry}>{texts.errors.retry}</Button>
    </p>
  )
}

const PATIENCE_MS = 200

/** Invisible at first, so that nothing flickers. */
export function Loading() {
  const texts = useTexts()
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="loading" aria-busy="true">
      {isSlow && <span role="status">{texts.loading}</span>}
    </div>
  )
}
