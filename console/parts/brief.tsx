import type { Json } from '../api.ts'
import { type EntityType, labelOf, valueAt } from '../model.ts'
import { PlainValue } from './changed-values.tsx'

const BRIEF = 4

interface BriefProps {
  readonly type: EntityType | undefined
  readonly data: Json | undefined
}

/** Shows the first values of an Entity without a name; nothing if it has one. */
export function Brief({ type, data }: BriefProps) {
  if (type === undefined || data === undefined || type.title !== null) return null
  const told = type.fields.filter(
    ({ path, type: kind }) =>
      kind !== 'object' && kind !== 'list' && kind !== 'json' && valueAt(data, path) != null,
  )
  return (
    <ul className="brief">
      {told.slice(0, BRIEF).map((field) => (
        <li key={field.path}>
          <span className="muted">{labelOf(field)}</span>{' '}
          <PlainValue field={field} value={valueAt(data, field.path)} />
        </li>
      ))}
    </ul>
  )
}
