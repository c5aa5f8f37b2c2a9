import type { FieldDeclaration, ListDeclaration, ObjectDeclaration } from './define.ts'
import { checkGivenValues, checkOptions, dotted, type FieldPlace } from './field-place.ts'
import { fieldTypeOf, type ValueDeclaration } from './field-types.ts'
import { aBoolean, aName, FIELD_NAME, type FieldOptions, rules } from './fields/field.ts'
import { DEFAULT_SCALE } from './fields/number.ts'
import type { Field, ValueField, ValueLimits } from './model.ts'
import type { Problems } from './problems.ts'
import { unfitValue } from './provided.ts'
import { isRecord } from './record.ts'
import {
  type LinksDeclaration,
  resolveEntries,
  resolveLinks,
  resolveReference,
} from './resolve-references.ts'
import { isServerValue, type ServerValue } from './server-value.ts'

const SERVER_OWNED = ['id', 'version', 'created_at', 'updated_at', 'deleted_at', 'deletion']
/** Columns that some databases have in every table, and names that some cannot give to a column of a subquery. */
const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid', 'true', 'false']
/** Some databases cut off longer names, so that two of them could become the same. */
const PATH_MAX = 60

export function resolveFields(fields: unknown, place: FieldPlace, problems: Problems): Field[] {
  if (!isRecord(fields)) {
    problems.push([place.path, 'must be an object with a field for each name'])
    return []
  }
  refuseFormer(fields, place, problems)
  const seen = new Map<string, string>()
  return Object.entries(fields).flatMap(([name, declaration]) => {
    const at = { ...place, path: `${place.path}.${name}` }
    const misnamed = nameProblem(name, place) ?? twinProblem(name, seen)
    seen.set(name.toLowerCase(), name)
    if (misnamed !== undefined) problems.push([at.path, misnamed])
    const field = misnamed === undefined ? resolveField(name, declaration, at, problems) : undefined
    return field === undefined ? [] : [Object.freeze(field)]
  })
}

/** Refuses an old name that is still declared, or that two fields claim. */
function refuseFormer(fields: Record<string, unknown>, place: FieldPlace, problems: Problems): void {
  const seen = new Set<unknown>()
  for (const [name, field] of Object.entries(fields)) {
    const was = isRecord(field) ? field.was : undefined
    if (was === undefined) continue
    const path = `${place.path}.${name}.was`
    if (place.inList) problems.push([path, 'cannot be used in a list: its items are not renamed'])
    else if (Object.hasOwn(fields, String(was)))
      problems.push([path, `is "${was}", which is also declared; remove one of them`])
    else if (seen.has(was)) problems.push([path, `is "${was}", which another field also uses`])
    seen.add(was)
  }
}

function nameProblem(name: string, place: FieldPlace): string | undefined {
  const path = dotted(place.dotPath, name)
  if (!FIELD_NAME.test(name)) return 'must be named with letters, digits and _, starting with a letter'
  if (place.dotPath === '' && SERVER_OWNED.includes(name.toLowerCase()))
    return 'is a name that every Entity already has; choose another'
  if (place.dotPath === '' && SYSTEM_COLUMNS.includes(name.toLowerCase()))
    return 'is a name that a database itself uses; choose another'
  if (place.dotPath === '' && place.taken.includes(name.toLowerCase()))
    return 'is a name that login adds; choose another'
  if (['constructor', 'prototype'].includes(name))
    return 'is a name that JavaScript itself uses; choose another'
  if (path.length > PATH_MAX)
    return `has the dot path "${path}", which is longer than ${PATH_MAX} characters; shorten it`
  return undefined
}

/** SQL does not distinguish `Name` from `name`. */
function twinProblem(name: string, seen: ReadonlyMap<string, string>): string | undefined {
  const twin = seen.get(name.toLowerCase())
  return twin === undefined ? undefined : `differs from ${twin} only in case; choose another`
}

function resolveField(
  name: string,
  declaration: unknown,
  place: FieldPlace,
  problems: Problems,
): Field | undefined {
  if (!isRecord(declaration) || typeof declaration.type !== 'string') {
    problems.push([place.path, 'must be made by one of text(), integer(), ref() and so on'])
    return undefined
  }
  const field = declaration as unknown as FieldDeclaration
  for (const rule of ['read', 'write'] as const)
    if (place.inList && field[rule] !== undefined)
      problems.push([`${place.path}.${rule}`, 'cannot be used in a list; put it on the list'])
  if (field.type === 'object') return resolveObject(name, field, place, problems)
  if (field.type === 'ref') return resolveReference(name, field, place, problems)
  if (field.type === 'list') return resolveList(name, field, place, problems)
  if (field.type === 'secret' && place.inList) {
    problems.push([place.path, 'cannot be in a list; declare it outside'])
    return undefined
  }
  return resolveValue(name, { written: field, whole: field }, place, problems)
}

function resolveObject(
  name: string,
  declaration: ObjectDeclaration,
  place: FieldPlace,
  problems: Problems,
): Field {
  checkOptions(
    declaration,
    { optional: aBoolean, was: aName, ...rules, fields: () => undefined },
    place.path,
    problems,
  )
  const path = dotted(place.dotPath, name)
  const fields = resolveFields(declaration.fields, { ...place, dotPath: path }, problems)
  if (isRecord(declaration.fields) && Object.keys(declaration.fields).length === 0)
    problems.push([place.path, 'must have at least one field'])
  return {
    kind: 'object',
    name,
    path,
    optional: declaration.optional === true,
    was: declaration.was,
    read: declaration.read,
    write: declaration.write,
    label: declaration.label,
    description: declaration.description,
    fields: Object.freeze(fields),
  }
}

function resolveList(
  name: string,
  declaration: ListDeclaration,
  place: FieldPlace,
  problems: Problems,
): Field | undefined {
  if (!place.inList && isLinks(declaration)) return resolveLinks(name, declaration, place, problems)
  if (!place.inList && isLinking(declaration)) return resolveLinking(name, declaration, place, problems)
  const before = problems.length
  const { linking: _, ...around } = place
  const at = { ...around, path: `${place.path}.items`, inList: true }
  const item = resolveField('items', declaration.items, at, problems)
  if (item === undefined || problems.length > before) return undefined
  return resolveValue(name, { written: declaration, whole: { ...declaration, item } }, place, problems)
}

function isLinks(declaration: ListDeclaration): declaration is LinksDeclaration {
  const { items } = declaration
  return isRecord(items) && items.type === 'ref'
}

function isRef(declaration: unknown): boolean {
  return isRecord(declaration) && declaration.type === 'ref'
}

/** Whether it is a list of objects with a reference in each. */
function isLinking({ items }: ListDeclaration): boolean {
  return (
    isRecord(items) &&
    items.type === 'object' &&
    isRecord(items.fields) &&
    Object.values(items.fields).some(isRef)
  )
}

function resolveLinking(
  name: string,
  declaration: ListDeclaration,
  place: FieldPlace,
  problems: Problems,
): Field | undefined {
  const before = problems.length
  const linking = dotted(place.dotPath, 'items')
  const at = { ...place, path: `${place.path}.items`, inList: true, linking }
  const item = resolveField('items', declaration.items, at, problems)
  if (item?.kind !== 'object' || problems.length > before) return undefined
  return resolveEntries(name, declaration, item, { place, problems })
}

/** A declaration as it was written (`written`), and with the items of a list resolved (`whole`). */
interface WrittenField {
  readonly written: object
  readonly whole: ValueDeclaration
}

function resolveValue(
  name: string,
  { written, whole: declaration }: WrittenField,
  place: FieldPlace,
  problems: Problems,
): Field | undefined {
  const type = fieldTypeOf(declaration.type)
  if (type === undefined || declaration.type === 'password') {
    problems.push([place.path, `"${declaration.type}" is not a type of field`])
    return undefined
  }
  const before = problems.length
  checkOptions(written, type.options, place.path, problems)
  if (place.inList && isRecord(written) && written.search === true)
    problems.push([`${place.path}.search`, 'cannot be used in a list: only single texts are searched'])
  for (const option of ['fold', 'sort'] as const)
    if (place.inList && isRecord(written) && written[option] !== undefined)
      problems.push([`${place.path}.${option}`, 'cannot be used in a list: only single texts are folded'])
  if (problems.length > before) return undefined
  const conflict = type.conflict?.(declaration)
  if (conflict !== undefined) {
    problems.push([`${place.path}.${conflict[0]}`, conflict[1]])
    return undefined
  }
  const field = valueField(name, dotted(place.dotPath, name), declaration)
  const { default: given, example } = declaration as { default?: unknown; example?: unknown }
  const isProvided = field.provided !== undefined
  const wrong = isProvided && isServerValue(given) ? providedProblem(given, field, place) : undefined
  if (wrong !== undefined) problems.push([`${place.path}.default`, wrong])
  const literals = isProvided ? { example } : { default: given, example }
  checkGivenValues(literals, field.check, place.path, problems)
  return field
}

function providedProblem(value: ServerValue, field: ValueField, { inList }: FieldPlace): string | undefined {
  return inList ? 'must be a constant in a list' : unfitValue(value, field)
}

/** The options that some of these fields have. */
interface ValueOptions extends FieldOptions {
  readonly unique?: boolean
  readonly search?: boolean
  readonly fold?: boolean
  readonly sort?: 'fold'
  readonly default?: unknown
  readonly scale?: number
  readonly item?: Field
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  readonly values?: readonly string[]
}

function limitsOf({ min, max, pattern, values }: ValueOptions): ValueLimits {
  return Object.freeze({
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(pattern !== undefined && { pattern }),
    ...(values !== undefined && { choices: values }),
  })
}

/** A field with one column, with everything compiled from its declaration. */
export function valueField(name: string, path: string, declaration: ValueDeclaration): ValueField {
  const type = fieldTypeOf(declaration.type)
  if (type === undefined) throw new TypeError(`no field type ${declaration.type}`)
  const options = declaration as ValueOptions
  const check = type.check(declaration)
  // In a JSON field, an object that looks like a server value is meant literally.
  const provided = type.column !== 'json' && isServerValue(options.default) ? options.default : undefined
  return Object.freeze({
    kind: 'value',
    name,
    path,
    type: declaration.type,
    column: type.column,
    scale: options.scale ?? DEFAULT_SCALE,
    optional: options.optional === true,
    default:
      options.default === undefined || provided !== undefined
        ? undefined
        : check(options.default, 'default', new Map()),
    provided: provided === undefined ? undefined : { default: provided },
    secret: declaration.type === 'secret' || declaration.type === 'password',
    unique: options.unique === true,
    search: options.search === true,
    fold: options.fold === true || options.sort === 'fold',
    sortsFolded: options.sort === 'fold',
    was: options.was,
    check,
    schema: type.schema(declaration),
    example: options.example,
    limits: limitsOf(options),
    read: options.read,
    write: options.write,
    label: options.label,
    description: options.description,
    item: options.item,
  })
}
