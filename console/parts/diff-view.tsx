import type { ReactNode } from 'react'
import type { Field } from '../model.ts'
import { type DiffPart, diffTexts, shortened } from './diff.ts'
import { EntityName } from './entity-name.tsx'

interface ValueDiffProps {
  readonly field: Pick<Field, 'type' | 'items' | 'to'> | undefined
  readonly from: unknown
  readonly to: unknown
}

/** Whether two values are best shown as one, with marked differences. */
export function canDiff({ field, from, to }: ValueDiffProps): boolean {
  if (from === null || to === null || from === undefined || to === undefined) return false
  if (typeof from === 'string' && typeof to === 'string')
    return ['text', undefined].includes(field?.type) && (from.length > 20 || to.length > 20)
  return typeof from === 'object' && typeof to === 'object' && field?.type !== 'ref'
}

/** Shows the difference of two texts, lists or JSON values. */
export function ValueDiff({ field, from, to }: ValueDiffProps): ReactNode {
  if (typeof from === 'string' && typeof to === 'string') return <Parts parts={diffTexts(from, to)} />
  const target = field?.items?.type === 'ref' ? (field.items.to ?? field.to) : undefined
  if (target && Array.isArray(from) && Array.isArray(to))
    return <RefsDiff to={target} before={from.map(idOf)} after={to.map(idOf)} />
  return (
    <code>
      <Parts parts={diffTexts(JSON.stringify(from, null, 1), JSON.stringify(to, null, 1))} />
    </code>
  )
}

function idOf(one: unknown): number {
  return Number(typeof one === 'object' && one !== null ? Reflect.get(one, 'id') : one)
}

function Parts({ parts }: { readonly parts: readonly DiffPart[] }) {
  return (
    <bdi className="diff">
      {shortened(parts).map(({ kind, text }, at) => {
        const Tag = kind === 'same' ? 'span' : kind === 'removed' ? 'del' : 'ins'
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have nothing but their place.
        return <Tag key={at}>{text}</Tag>
      })}
    </bdi>
  )
}

interface RefsDiffProps {
  readonly to: string
  readonly before: readonly number[]
  readonly after: readonly number[]
}

/** Shows which references were added and removed; if only their order has changed, all of them in the new order. */
function RefsDiff({ to, before, after }: RefsDiffProps) {
  const gone = before.filter((id) => !after.includes(id))
  const come = after.filter((id) => !before.includes(id))
  const named = (ids: readonly number[], Tag: 'del' | 'ins' | 'span') =>
    ids.map((id) => (
      <Tag key={`${Tag}${id}`} className="diff-ref">
        <EntityName entity={to} id={id} />
      </Tag>
    ))
  const isMoved = gone.length === 0 && come.length === 0
  return (
    <span className="diff">
      {named(gone, 'del')}
      {named(isMoved ? after : come, isMoved ? 'span' : 'ins')}
    </span>
  )
}
