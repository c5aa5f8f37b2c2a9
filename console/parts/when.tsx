import { formatAgo, formatExactTime } from '../format.ts'

/** A time, as people say it; the exact one when it is pointed at. */
export function When({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {formatAgo(at)}
    </time>
  )
}
