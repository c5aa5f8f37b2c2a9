import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { explain } from '../../explain.ts'
import { Button } from '../../parts/button.tsx'
import { type SavedView, useKeep } from '../../preferences.ts'
import { useTexts } from '../../texts/index.ts'

interface ViewsProps {
  readonly entity: string
  readonly views: readonly SavedView[]
  /** The view that is shown. */
  readonly current: SavedView | undefined
  /** The current query of the list. */
  readonly query: string
  /** Whether the list shows everything. */
  readonly isEverything: boolean
  close(): void
}

export default function Views({ entity, views, current, query, isEverything, close }: ViewsProps) {
  const texts = useTexts()
  const { keep, failure } = useKeepViews(entity)
  const hrefOf = (one: string) => (one === '' ? `/${entity}` : `/${entity}?${one}`)
  return (
    <div className="views">
      <Link href={`/${entity}`} aria-current={isEverything ? 'true' : undefined} onClick={close}>
        {texts.list.everything}
      </Link>
      {views.map((one) => (
        <div key={one.name}>
          <Link href={hrefOf(one.query)} aria-current={one === current ? 'true' : undefined} onClick={close}>
            {one.name}
          </Link>
          <Button
            icon="close"
            tone="plain"
            aria-label={texts.list.removeView(one.name)}
            onClick={() => void keep(views.filter(({ name }) => name !== one.name))}
          />
        </div>
      ))}
      <NewView onKeep={(name) => keep([...views.filter((one) => one.name !== name), { name, query }])} />
      {failure !== undefined && (
        <p className="wrong" role="alert">
          {explain(failure, texts)}
        </p>
      )}
    </div>
  )
}

function useKeepViews(entity: string) {
  const keepAll = useKeep()
  const [failure, setFailure] = useState<unknown>()
  const keep = async (views: readonly SavedView[]) => {
    try {
      await keepAll((was) => ({ ...was, views: { ...was.views, [entity]: views } }))
      setFailure(undefined)
    } catch (error) {
      setFailure(error)
    }
  }
  return { keep, failure }
}

function NewView({ onKeep }: { onKeep(name: string): Promise<void> }) {
  const texts = useTexts()
  const [name, setName] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== '') void onKeep(name.trim()).then(() => setName(''))
  }
  return (
    <form onSubmit={submit}>
      <input
        type="text"
        aria-label={texts.list.viewName}
        placeholder={texts.list.viewName}
        maxLength={60}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" tone="plain" icon="check">
        {texts.list.keepView}
      </Button>
    </form>
  )
}
