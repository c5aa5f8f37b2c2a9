import { computedNamed } from './cel/check.ts'
import type { ValueKind } from './cel/expression.ts'
import type { Computed, Member, Members } from './cel/scope.ts'
import { foldedColumn } from './folded-column.ts'
import {
  columnOf,
  type EntityType,
  type Field,
  isPointing,
  type LinksField,
  linkTableOf,
  type ObjectField,
  type Reverse,
  reversesOf,
  type ValueField,
  walk,
} from './model.ts'
import { declaredAt } from './problems.ts'

/** What the caller can see. For expressions, sorts and expansions, nothing else exists. */
export interface Visibility {
  /** Whether Entities of a type can be seen at all through a reference. */
  reaches(type: EntityType): boolean
  sees(field: Field, type: EntityType): boolean
}

/** For rules, whose author may use all names. */
export const allVisible: Visibility = { reaches: () => true, sees: () => true }

/** For checks and provided values: they know all fields but no named rules, which may depend on the caller. */
export const allFields: Visibility = { reaches: () => true, sees: () => true }

/** What every Entity has besides its fields. */
export const ownValues = {
  id: 'integer',
  version: 'integer',
  created_at: 'datetime',
  updated_at: 'datetime',
  deleted_at: 'datetime',
} as const satisfies Record<string, ValueKind>

/** What an Entity has besides its fields. A new Entity has fewer of them. */
export interface BesidesFields {
  readonly own: readonly (keyof typeof ownValues)[]
  /** Whether an expression can use its referrers. */
  readonly referrers: boolean
}

const whole: BesidesFields = { own: Object.keys(ownValues) as (keyof typeof ownValues)[], referrers: true }

/** The names of each type for rules. Cached, since every rule needs those of its own type and of all login types. */
const forRules = new WeakMap<ReadonlyMap<string, EntityType>, Map<EntityType, Members>>()

/** The names of a type that are visible. */
export function membersOf(
  type: EntityType,
  entities: ReadonlyMap<string, EntityType>,
  visibility: Visibility,
  besides: BesidesFields = whole,
): Members {
  const look = { type, entities, visibility }
  if (visibility !== allVisible || besides !== whole) return makeMembers(look, besides)
  const kept = forRules.get(entities) ?? new Map<EntityType, Members>()
  forRules.set(entities, kept)
  const members = kept.get(type) ?? makeMembers(look, whole)
  kept.set(type, members)
  return members
}

function makeMembers(look: Look, { own, referrers }: BesidesFields): Members {
  const { type, visibility } = look
  const known = new Map<string, Member>(own.map((name) => [name, ownMember(name, type)]))
  if (referrers)
    for (const reverse of reversesSeen(look)) known.set(reverse.name, referrersMember(reverse, look))
  for (const [name, member] of fieldMembers(type.fields, look)) known.set(name, member)
  const hint = (name: string) => referrersHint(name, look, referrers)
  const get = (name: string) => known.get(name)
  const computed = computedOf(type, { names: [], get }, visibility)
  const names = [...known.keys(), ...computed.keys()]
  const members = {
    names,
    get,
    hint,
    ...(computed.size > 0 && { computed: (name: string) => computed.get(name) }),
  }
  if (visibility !== allVisible) return members
  return { ...members, names: [...names, ...type.rules.keys()], rule: (name) => type.rules.get(name) }
}

/** The computed fields whose operands the viewer may all know. */
function computedOf(
  { computed }: EntityType,
  members: Members,
  visibility: Visibility,
): ReadonlyMap<string, Computed> {
  if (computed.size === 0 || visibility === allVisible) return computed
  const made = { ...members, computed: (name: string) => computed.get(name) }
  return new Map([...computed].filter(([name]) => computedNamed(name, made) !== undefined))
}

/** The referrers of a type that the viewer may know. */
function reversesSeen({ type, entities, visibility }: Look): Reverse[] {
  return reversesOf({ entities }, type.name).filter(
    ({ from, field }) => visibility.reaches(from) && visibility.sees(field, from),
  )
}

/** A hint for a name that probably means referrers. */
function referrersHint(name: string, look: Look, referrers: boolean): string | undefined {
  const { type, entities, visibility } = look
  const meant = reversesSeen(look).find((one) => one.name === name || one.from.name === name)
  if (meant !== undefined)
    return referrers
      ? `; did you mean "${meant.name}"?`
      : `; "${meant.name}" is only known for an Entity before the change`
  if (visibility !== allVisible) return undefined
  const unnamed = [...walk(entities.get(name)?.fields ?? [])].find(
    (field) => isPointing(field) && field.target === type.name,
  )
  if (unnamed === undefined) return undefined
  const place = declaredAt(name, unnamed.path)
  return `; give the reference a name for it: ref('${type.name}', { as: '${name}' }) in ${place}`
}

function referrersMember({ from, field }: Reverse, { entities, visibility }: Look): Member {
  const links = field.kind === 'links' ? linkTableOf(from.name, field.path).table : undefined
  const members = () => membersOf(from, entities, visibility)
  return {
    is: 'list',
    column: 'id',
    max: undefined,
    item: { from: from.name, path: field.path, column: columnOf(field), links, members },
  }
}

function ownMember(name: keyof typeof ownValues, type: EntityType): Member {
  const member = value(name, ownValues[name], 0)
  return name === 'id' && member.is === 'value' ? { ...member, entity: type.name } : member
}

function value(column: string, kind: ValueKind, scale: number, choices?: readonly string[]): Member {
  return { is: 'value', column, kind, scale, choices }
}

/** What the names are made from: a type, all types, and what is visible of them. */
interface Look {
  readonly type: EntityType
  readonly entities: ReadonlyMap<string, EntityType>
  readonly visibility: Visibility
}

/** The names of fields. `prefix`: in a list, the length of the item's own path, which is cut off. */
function fieldMembers(fields: readonly Field[], look: Look, prefix = 0): [string, Member][] {
  return fields.flatMap((field): [string, Member][] => {
    if (!isSeen(field, look)) return []
    const member = memberOf(field, look, prefix)
    return member === undefined ? [] : [[field.name, member]]
  })
}

/** Whether a field is visible. An object without visible fields is not. */
function isSeen(field: Field, look: Look): boolean {
  if (!look.visibility.sees(field, look.type)) return false
  return field.kind !== 'object' || field.fields.some((inner) => isSeen(inner, look))
}

function memberOf(field: Field, look: Look, prefix: number): Member | undefined {
  const { type, entities, visibility } = look
  const column = columnOf(field).slice(prefix)
  if (field.kind === 'object') {
    const inner = new Map(fieldMembers(field.fields, look, prefix))
    const members = { names: [...inner.keys()], get: (name: string) => inner.get(name) }
    return { is: 'object', column: field.optional ? column : undefined, members }
  }
  if (isPointing(field)) {
    const target = entities.get(field.target)
    const members = () =>
      target !== undefined && visibility.reaches(target) ? membersOf(target, entities, visibility) : idOnly
    if (field.kind === 'reference') return { is: 'reference', column, to: field.target, members }
    if (field.item !== undefined) return entriesMember(field, field.item, look, column)
    return {
      is: 'list',
      column,
      max: field.max,
      item: { table: linkTableOf(type.name, field.path).table, target: field.target, members },
    }
  }
  if (field.secret) return undefined
  if (field.item !== undefined) return listMember(field, field.item, look, prefix)
  if (field.column === 'json') return { is: 'json', column }
  const one = value(column, kindOf(field), field.scale, declaredChoices(field))
  if (!field.fold || prefix > 0 || one.is !== 'value') return one
  return { ...one, folded: { column: foldedColumn(column), sorts: field.sortsFolded } }
}

/** The name of a list of objects with a reference each. */
function entriesMember(field: LinksField, item: ObjectField, look: Look, column: string): Member {
  const inner = new Map(fieldMembers(item.fields, look, item.path.length + 1))
  const entries = { table: linkTableOf(look.type.name, field.path).table, column: `${field.member}.id` }
  const members = { names: [...inner.keys()], get: (name: string) => inner.get(name) }
  return { is: 'list', column, max: field.max, item: members, entries }
}

/** The names of a hidden Entity: only its id. */
export const idOnly: Members = {
  names: ['id'],
  get: (name) => (name === 'id' ? value('id', 'integer', 0) : undefined),
}

function listMember(field: ValueField, item: Field, look: Look, prefix: number): Member {
  const column = columnOf(field).slice(prefix)
  const max = maxOf(field)
  if (item.kind === 'object') {
    const inner = new Map(fieldMembers(item.fields, look, item.path.length + 1))
    return { is: 'list', column, max, item: { names: [...inner.keys()], get: (name) => inner.get(name) } }
  }
  if (item.kind === 'value' && item.item === undefined && item.column !== 'json')
    return { is: 'list', column, max, item: { kind: kindOf(item), scale: item.scale } }
  return { is: 'json', column }
}

function maxOf({ schema }: ValueField): number | undefined {
  const { maxItems } = schema as { maxItems?: unknown }
  return typeof maxItems === 'number' ? maxItems : undefined
}

export function kindOf(field: ValueField): ValueKind {
  const { column } = field
  return column === 'json' || column === 'presence' ? 'text' : column
}

export function declaredChoices(field: ValueField): readonly string[] | undefined {
  const { enum: values } = field.schema as { enum?: unknown }
  return Array.isArray(values) ? (values as readonly string[]) : undefined
}
