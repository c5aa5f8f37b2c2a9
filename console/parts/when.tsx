import { useSyncExternalStore } from 'react'
import { formatAgo, formatExactTime } from '../format.ts'

const RENEW_MS = 30_000
/** One clock for all times on a page: they agree, and advance together. */
let now = Date.now()
const listeners = new Set<() => void>()

function renew(): void {
  now = Date.now()
  for (const listener of listeners) listener()
}

setInterval(renew, RENEW_MS)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Shows a relative time; the exact one on hover. */
export function When({ at }: { readonly at: string }) {
  const moment = useSyncExternalStore(subscribe, () => now)
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {formatAgo(at, moment)}
    </time>
  )
}
