import { useMemo } from 'react'
import { formatNumber, formatTime } from '../format.ts'
import { type EntityType, type Field, fieldAt, labelOf, useEntityType } from '../model.ts'
import type { OperationChange } from '../operations.ts'
import { type Texts, useTexts } from '../texts/index.ts'
import { canDiff, ValueDiff } from './diff-view.tsx'
import { EntityName } from './entity-name.tsx'
import { formatDecimal } from './value.tsx'

interface ChangedValuesProps {
  readonly entity: string
  readonly changed: OperationChange['changed']
  /** Dot paths of secrets that were changed. */
  readonly secrets?: readonly string[] | undefined
  /** The most values that are shown. The rest is counted. */
  readonly most?: number
}

/** Shows old and new values, one line each. */
export function ChangedValues({ entity, changed, secrets = [], most = 50 }: ChangedValuesProps) {
  const texts = useTexts()
  const type = useEntityType(entity)
  if (changed === null) return <p className="muted">{texts.operations.unknown}</p>
  const all = Object.entries(changed).filter(([path]) => path !== 'deleted_at')
  return (
    <ul className="changed-values">
      {secrets.map((path) => (
        <li key={path}>
          <span className="path" title={path}>
            {labelAt(type, path)}
          </span>{' '}
          <span className="muted">{texts.operations.secretChanged}</span>
        </li>
      ))}
      {all.slice(0, most).map(([path, { from, to }]) => (
        <ChangedValue key={path} type={type} path={path} from={from} to={to} />
      ))}
      {all.length > most && <li className="muted">{texts.operations.andMore(all.length - most)}</li>}
    </ul>
  )
}

function labelAt(type: EntityType | undefined, path: string): string {
  const field = changedField(type?.fields ?? [], path)
  return field === undefined ? path : labelOf(field)
}

interface ChangedValueProps {
  readonly type: EntityType | undefined
  readonly path: string
  readonly from: unknown
  readonly to: unknown
}

function ChangedValue({ type, path, from, to }: ChangedValueProps) {
  const field = useMemo(() => changedField(type?.fields ?? [], path), [type, path])
  return (
    <li>
      <span className="path" title={path}>
        {labelAt(type, path)}
      </span>{' '}
      {canDiff({ field, from, to }) ? (
        <ValueDiff field={field} from={from} to={to} />
      ) : (
        <FromTo field={field} from={from} to={to} />
      )}
    </li>
  )
}

interface FromToProps {
  readonly field: Field | undefined
  readonly from: unknown
  readonly to: unknown
}

function FromTo({ field, from, to }: FromToProps) {
  const hadValue = from !== null && from !== undefined
  return (
    <>
      {hadValue && (
        <del>
          <PlainValue field={field} value={from} />
        </del>
      )}
      {hadValue && <span aria-hidden="true"> → </span>}
      <ins>
        <PlainValue field={field} value={to} />
      </ins>
    </>
  )
}

/** Returns the field at a path. `room.id` belongs to the reference `room`. */
function changedField(fields: readonly Field[], path: string): Field | undefined {
  return fieldAt(fields, path) ?? fieldAt(fields, path.replace(/\.id$/, ''))
}

const LONGEST = 200

/** Shows a value as text, and a reference by its name. */
export function PlainValue({ field, value }: { readonly field: Field | undefined; readonly value: unknown }) {
  const texts = useTexts()
  const id = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : value
  if (field?.type === 'ref' && field.to && typeof id === 'number')
    return <EntityName entity={field.to} id={id} />
  const text = textOf(field, value, texts)
  return <bdi>{text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}</bdi>
}

function textOf(field: Field | undefined, value: unknown, texts: Texts): string {
  if (value === null || value === undefined) return texts.operations.emptyValue
  if (value === '') return '""'
  if (typeof value === 'boolean') return value ? texts.operations.yes : texts.operations.no
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'string' && field?.type === 'decimal') return formatDecimal(value)
  if (typeof value === 'string') return field?.type === 'datetime' ? formatTime(value) : value
  return JSON.stringify(value)
}
