import type { EntityType, Model } from '../../declare/model.ts'
import type { Bound, Params } from '../../store/dialect.ts'
import type { ChangeKind } from './journal.ts'
import { versionsParams } from './moved.ts'

/** The name of the step that is refused if a rule forbids an amendment. */
export const FORBIDDEN = 'forbidden'

/** The name of the step that is refused if a check would fail. Its rows are obstacles: all values are known by then. */
export const UNMET = 'unmet'

/** The target state of one Entity that is now at a version: its values, and whether it is live. */
export interface Amendment {
  readonly id: number
  readonly version: number
  readonly kind: Extract<ChangeKind, 'update' | 'delete' | 'restore'>
  /** For a delete: the operation that counts as its deletion; `null` for the operation of the amendment itself. */
  readonly deletion: string | null
  /** Whether it is restored along with another Entity, as a plain restore would: its own rules are not checked. */
  readonly along: boolean
  /** One for each column of its group. */
  readonly values: readonly Bound[]
}

/** Amendments of one type that set the same columns. */
export interface AmendmentGroup {
  readonly type: EntityType
  readonly columns: readonly string[]
  /** The columns among them that the server sets itself: the rules of their fields do not apply. */
  readonly free?: readonly string[]
  readonly amendments: readonly Amendment[]
}

export function typesOf(groups: readonly AmendmentGroup[]): EntityType[] {
  return [...new Set(groups.map(({ type }) => type))]
}

/** Parameters of each group: its rows, the same without values, and the ids alone. */
export const rowsName = (at: number) => `$rows ${at}`
export const headsName = (at: number) => `$heads ${at}`
export const idsName = (at: number) => `$ids ${at}`
/** Parameters of all groups, by type: deleted ids, deleted ids with their deletions, restored ids, all ids. */
export const goneName = (type: string) => `$gone ${type}`
export const goersName = (type: string) => `$goers ${type}`
export const backName = (type: string) => `$back ${type}`
export const amendedName = (type: string) => `$amended ${type}`

/** The columns of each amendment besides its values. No declared column can have these names. */
export const HEADS = [
  { name: '$id', kind: 'integer' },
  { name: '$version', kind: 'integer' },
  { name: '$kind', kind: 'text' },
  { name: '$deletion', kind: 'text' },
  { name: '$along', kind: 'integer' },
] as const

export function amendParams(groups: readonly AmendmentGroup[], model: Model, of: readonly string[]): Params {
  const params: Params = { $undone: JSON.stringify(of) }
  const byType = new Map(
    [...model.entities.keys()].map((name) => [
      name,
      { gone: [] as number[], goers: [] as unknown[], back: [] as number[], amended: [] as number[] },
    ]),
  )
  for (const [at, { type, amendments }] of groups.entries()) {
    const heads = amendments.map(({ id, version, kind, deletion, along }) => [
      id,
      version,
      kind,
      deletion,
      along ? 1 : 0,
    ])
    const rows = amendments.map(({ values }, row) => [...(heads[row] ?? []), ...values])
    params[rowsName(at)] = `[${rows.map((row) => `[${row.map(boundJson).join(',')}]`).join(',')}]`
    params[headsName(at)] = JSON.stringify(heads)
    params[idsName(at)] = JSON.stringify(amendments.map(({ id }) => id))
    Object.assign(params, versionsParams(at, amendments))
    const lists = byType.get(type.name)
    for (const { id, kind, deletion } of amendments) {
      lists?.amended.push(id)
      if (kind === 'restore') lists?.back.push(id)
      if (kind !== 'delete') continue
      lists?.gone.push(id)
      lists?.goers.push([id, deletion])
    }
  }
  for (const [name, { gone, goers, back, amended }] of byType) {
    params[goneName(name)] = JSON.stringify(gone)
    params[goersName(name)] = JSON.stringify(goers)
    params[backName(name)] = JSON.stringify(back)
    params[amendedName(name)] = JSON.stringify(amended)
  }
  return params
}

/** Writes a value as JSON. A scaled decimal may have more digits than a JavaScript number holds. */
function boundJson(value: Bound): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}
