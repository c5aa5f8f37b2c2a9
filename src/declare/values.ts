import { addError, type Errors } from '../errors.ts'
import { didYouMean } from './closest.ts'
import type { Check, JsonSchema } from './fields/field.ts'
import { type Field, isFilled, isReadOnly, type LinksField, providedOf } from './model.ts'
import { operatorsSchema } from './operators.ts'
import { withArticle } from './with-article.ts'

/**
 * `whole`: a body with a whole new Entity. An absent key gets its default or `null`, or is an error.
 * `replace`: the same for an existing Entity. An absent secret stays, since nobody can read it to send it back.
 * `partial`: a body to merge (RFC 7396). Absent keys stay, `null` removes a value.
 */
export type Mode = 'whole' | 'replace' | 'partial'

export type Values = { readonly [key: string]: unknown }

/** The check of a field's value that is present and not `null`. */
export function checkOf(field: Field, mode: Mode, refusals: Refusals = allowed): Check {
  switch (field.kind) {
    case 'value':
      return field.check
    case 'reference':
      return checkReference
    case 'links':
      return linksCheck(field)
    case 'object':
      return objectCheck(field.fields, mode, unknownInside, refusals)
  }
}

function unknownInside(key: string, known: readonly string[]): string {
  return `is not a field here${didYouMean(key, known)}`
}

/** What the caller may not do with a field. */
interface Refusal {
  /** Why the caller cannot set it, if they cannot; `hidden` if it does not exist for them. */
  readonly refused: string | undefined
  /** Whether it stays if a whole body does not have it, because the caller cannot see or set all of it. */
  readonly stays: boolean
  /** Why it cannot be removed together with its fields, if it cannot. */
  readonly kept: string | undefined
  /** Whether the caller sees `null` only because it is hidden. If they send that `null` back, it stays. */
  readonly blank: boolean
}

type Refusals = (field: Field) => Refusal

export const HIDDEN = 'hidden'

const allowed: Refusals = () => ({ refused: undefined, stays: false, kept: undefined, blank: false })

/** Compiles the check of a body. Unknown keys are refused, so nothing is assigned by accident. */
export function objectCheck(
  fields: readonly Field[],
  mode: Mode,
  unknown: (key: string, known: readonly string[]) => string,
  refusals: Refusals = allowed,
): Check {
  const entries = fields.map((field) => ({
    field,
    name: field.name,
    check: checkOf(field, mode, refusals),
    filled: isFilled(field),
    ...refusals(field),
  }))
  const names = new Set(entries.filter(({ refused }) => refused !== HIDDEN).map(({ name }) => name))
  const partial = mode === 'partial'
  return (value, path, errors) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return addError(errors, path, 'must be an object')
    const input = value as Values
    const prefix = path === '' ? '' : `${path}.`
    const output: Record<string, unknown> = {}
    for (const { field, name, check, filled, refused, stays, kept, blank } of entries) {
      const given = Object.hasOwn(input, name) && refused !== HIDDEN ? input[name] : undefined
      if (given === null && blank && mode === 'replace') continue
      if (given !== undefined && refused !== undefined) addError(errors, prefix + name, refused)
      else if (given === undefined) {
        // A field that the caller cannot send stays: they cannot read it, or may not set it.
        if (partial || (mode === 'replace' && (isSecret(field) || stays || filled))) continue
        output[name] = missing({ field, check, filled }, prefix + name, errors)
      } else if (given !== null) output[name] = check(given, prefix + name, errors)
      else if (kept !== undefined && mode !== 'whole') addError(errors, prefix + name, kept)
      else output[name] = field.optional ? null : cleared(field, prefix + name, partial, errors)
    }
    for (const key in input)
      if (!names.has(key)) addError(errors, prefix + key, () => unknown(key, [...names]))
    return output
  }
}

/** The value after a `null`: in a merge the default, or an error; in a whole body always an error. */
function cleared(field: Field, path: string, partial: boolean, errors: Errors): unknown {
  const given = defaultOf(field)
  if (partial && given !== undefined) return given
  return refuse(field, path, errors, partial ? 'is required' : 'must not be null')
}

/** The value of an absent field. `filled`: the server sets it later. An object of only such fields may be absent. */
function missing(
  { field, check, filled }: { readonly field: Field; readonly check: Check; readonly filled: boolean },
  path: string,
  errors: Errors,
): unknown {
  if (filled) return field.kind === 'object' ? check({}, path, errors) : undefined
  const given = defaultOf(field)
  if (given !== undefined) return given
  return field.optional ? null : refuse(field, path, errors, 'is required')
}

function refuse(field: Field, path: string, errors: Errors, sentence: string): undefined {
  addError(errors, path, sentence)
  if (field.kind === 'reference') addError(errors, `${path}.id`, sentence)
}

/** Reports a failed reference under its own key and its id's: clients show one at the field, one at the picker. */
export function addReferenceError(errors: Errors, path: string, sentence: string): undefined {
  addError(errors, path, sentence)
  addError(errors, `${path}.id`, sentence)
}

const checkReference: Check = (value, path, errors) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return addReferenceError(errors, path, 'must be a reference, such as {"id": 5}')
  const { id } = value as { id?: unknown }
  if (!Object.hasOwn(value, 'id')) addReferenceError(errors, path, 'is required')
  else if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1)
    addReferenceError(errors, path, 'must be a whole number from 1')
  for (const key in value)
    if (key !== 'id') addError(errors, `${path}.${key}`, 'is not a field of a reference')
  return { id }
}

/**
 * The check of a list of references, or of objects with a reference each, without duplicates. A wrong item becomes
 * `null`, so that the others are still checked.
 */
function linksCheck({ min, max = Number.POSITIVE_INFINITY, item, member }: LinksField): Check {
  const check = item === undefined ? checkReference : checkOf(item, 'whole')
  return (value, path, errors) => {
    if (!Array.isArray(value)) return addError(errors, path, 'must be a list')
    if (value.length < min) addError(errors, path, `must have at least ${min} items`)
    if (value.length > max) return addError(errors, path, `must have at most ${max} items`)
    const seen = new Set<number>()
    return value.map((one, at) => {
      const own: Errors = new Map()
      const place = `${path}.${at}`
      if (one === null && item === undefined) addReferenceError(own, place, 'must not be null')
      else if (one === null) addError(own, place, 'must not be null')
      const checked = one === null ? undefined : check(one, place, own)
      for (const [key, sentences] of own) for (const sentence of sentences) addError(errors, key, sentence)
      if (own.size > 0) return null
      const id = memberId(checked, member)
      if (seen.has(id)) addReferenceError(errors, dottedPath(place, member), 'is already in the list')
      seen.add(id)
      return checked
    })
  }
}

/** The id of a member: of a reference, or of the named reference in an item. */
export function memberId(one: unknown, member: string): number {
  const reference = member === '' ? one : (one as Record<string, unknown> | null | undefined)?.[member]
  return Number((reference as { id?: unknown } | null | undefined)?.id)
}

/** The path of the reference in an item of a list. */
export function dottedPath(place: string, member: string): string {
  return member === '' ? place : `${place}.${member}`
}

const referenceSchema: JsonSchema = {
  type: 'object',
  properties: { id: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
  required: ['id'],
  additionalProperties: false,
}

/** JSON Schema 2020-12 of the fields: `in` as they are sent, `out` as they are returned. */
export function objectSchema(fields: readonly Field[], mode: Mode, direction: 'in' | 'out'): JsonSchema {
  const shown = fields.filter((field) => (direction === 'in' ? !isReadOnly(field) : !isSecret(field)))
  const needed = (field: Field) =>
    mode !== 'partial' && isRequired(field) && !isFilled(field) && !(mode === 'replace' && isSecret(field))
  // A field that some callers cannot see may be absent.
  const there = (field: Field) => (direction === 'out' ? field.read === undefined : needed(field))
  const required = shown.filter(there).map((field) => field.name)
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map((field) => [field.name, fieldSchema(field, mode, direction)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function fieldSchema(field: Field, mode: Mode, direction: 'in' | 'out'): JsonSchema {
  const value = bareSchema(field, mode, direction)
  const operators = mode === 'partial' && direction === 'in' ? operatorsSchema(field, value) : undefined
  const schema = labelled(
    operators === undefined ? value : { anyOf: [value, operators] },
    field,
    direction === 'in' && mode === 'whole' ? providedDefault(field) : undefined,
  )
  const resets = mode === 'partial' && defaultOf(field) !== undefined
  const hidden = direction === 'out' && field.read !== undefined
  const shown = direction === 'out' && isReadOnly(field) ? { readOnly: true } : {}
  return field.optional || hidden || (resets && direction === 'in')
    ? { anyOf: [schema, { type: 'null' }], ...shown }
    : { ...schema, ...shown }
}

/** The default that the server provides, in words. The text of an expression is not public. */
export function providedDefault(field: Field): string | undefined {
  const { default: given } = providedOf(field)
  if (given === undefined) return undefined
  const words = { me: 'the user who acts', now: 'the time of the request', cel: 'set by the server' }
  return `Default: ${words[given.server]}.`
}

/** Adds label and description. The schema's own description follows. */
function labelled(schema: JsonSchema, field: Field, provided: string | undefined): JsonSchema {
  const { label, description } = field
  const said = [description, schema.description, provided].filter((one) => typeof one === 'string').join(' ')
  return {
    ...schema,
    ...(label !== undefined && { title: label }),
    ...(said !== '' && { description: said }),
  }
}

function bareSchema(field: Field, mode: Mode, direction: 'in' | 'out'): JsonSchema {
  if (field.kind === 'object') return objectSchema(field.fields, mode, direction)
  if (field.kind === 'reference') return referencesTo(field.target, direction)
  const examples = field.example === undefined ? {} : { examples: [field.example] }
  return {
    ...(field.kind === 'links' ? linksSchema(field, direction) : field.schema),
    ...examples,
    ...(field.default !== undefined && direction === 'in' && { default: field.default }),
  }
}

function referencesTo(target: string, direction: 'in' | 'out'): JsonSchema {
  if (direction === 'in') return { ...referenceSchema, description: `Refers to ${withArticle(target)}.` }
  const description = `Refers to ${withArticle(target)}. With \`expand\`, the Entity itself.`
  return { ...referenceSchema, additionalProperties: true, description }
}

function linksSchema({ target, min, max, item }: LinksField, direction: 'in' | 'out'): JsonSchema {
  return {
    type: 'array',
    items:
      item === undefined ? referencesTo(target, direction) : objectSchema(item.fields, 'whole', direction),
    uniqueItems: true,
    ...(min > 0 && { minItems: min }),
    ...(max !== undefined && { maxItems: max }),
  }
}

export function isSecret(field: Field): boolean {
  return field.kind === 'value' && field.secret
}

/** Whether a whole body must have it. True even for an object whose fields all have a default. */
export function isRequired(field: Field): boolean {
  return !field.optional && defaultOf(field) === undefined
}

/** The default; undefined if there is none. */
export function defaultOf(field: Field): unknown {
  return field.kind === 'value' || field.kind === 'links' ? field.default : undefined
}
