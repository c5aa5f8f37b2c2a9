import { didYouMean } from './closest.ts'
import { type Field, type Provided, type Providing, providedOf, walk } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'
import { isServerValue, type ServerValue } from './server-value.ts'
import { checkOf, defaultOf } from './values.ts'

const ACTIONS = ['create', 'update'] as const

/** Adds to each field the values that `set` declares for it. */
export function withProvided(
  fields: readonly Field[],
  declared: unknown,
  path: string,
  problems: Problems,
): readonly Field[] {
  if (declared === undefined) return fields
  if (!isRecord(declared)) {
    problems.push([`${path}.set`, 'must be an object, such as { update: { edited_by: me, edited_at: now } }'])
    return fields
  }
  const found = new Map<string, Provided>()
  for (const [action, values] of Object.entries(declared)) {
    const at = `${path}.set.${action}`
    if (action !== 'create' && action !== 'update')
      problems.push([
        at,
        `is not an action here${didYouMean(action, ACTIONS)}; the actions are create, update`,
      ])
    else if (!isRecord(values)) problems.push([at, 'must be an object with a value for each dot path'])
    else
      for (const [name, value] of Object.entries(values)) {
        const provided = providedFor(name, value, fields)
        if (typeof provided === 'string') problems.push([`${at}.${name}`, provided])
        else found.set(name, { ...found.get(name), [action]: provided })
      }
  }
  const all = withSet(fields, found)
  refuseUnset(all, path, problems)
  return all
}

/** The provided value of a field, or what is wrong with it. */
function providedFor(path: string, value: unknown, fields: readonly Field[]): Providing | string {
  const all = [...walk(fields)]
  const field = all.find((one) => one.path === path)
  if (field === undefined)
    return `is not a field of this type${didYouMean(
      path,
      all.map((one) => one.path),
    )}`
  if (field.kind === 'object' || field.kind === 'links' || (field.kind === 'value' && isUnfit(field)))
    return 'is of a type that cannot be set by the server: only references and single values can'
  if (isServerValue(value)) return unfitValue(value, field) ?? value
  if (field.kind === 'reference') return 'must be me or cel(…)'
  if (value === null)
    return field.optional ? { constant: null } : 'must not be null, since it is not optional'
  const errors = new Map<string, string[]>()
  const constant = checkOf(field, 'whole')(value, path, errors)
  return errors.size > 0 ? [...errors.values()].flat().join(', ') : { constant }
}

function isUnfit(field: Extract<Field, { kind: 'value' }>): boolean {
  return field.secret || field.column === 'json'
}

/** Why the server cannot set this value in this field; undefined if it can. */
export function unfitValue(
  value: ServerValue,
  field: Pick<Field, 'kind'> & { column?: string },
): string | undefined {
  if (value.server === 'me' && field.kind !== 'reference')
    return 'is me, which is for references to a login type'
  if (value.server === 'now' && field.column !== 'date' && field.column !== 'datetime')
    return 'is now, which is for date() and datetime()'
  return undefined
}

function withSet(fields: readonly Field[], found: ReadonlyMap<string, Provided>): Field[] {
  return fields.map((field) => {
    if (field.kind === 'object') return Object.freeze({ ...field, fields: withSet(field.fields, found) })
    const set = found.get(field.path)
    if (set === undefined || field.kind === 'links') return field
    return Object.freeze({ ...field, provided: { ...field.provided, ...set } })
  })
}

/** Refuses a field that is set only on update and has no value when an Entity is created. */
function refuseUnset(fields: readonly Field[], path: string, problems: Problems): void {
  for (const field of walk(fields)) {
    const { create, update, default: given } = providedOf(field)
    if (update === undefined || create !== undefined || given !== undefined) continue
    if (!field.optional && defaultOf(field) === undefined)
      problems.push([
        `${path}.set.update.${field.path}`,
        'is never sent, and new Entities need it too: set it on create as well, or make it optional',
      ])
  }
}
