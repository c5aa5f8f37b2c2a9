import { parseNote } from '../../api/notes.ts'
import { didYouMean } from '../../declare/closest.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'

/** The arguments of a tool: JSON Schemas by name. */
export interface Takes {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

export type Arguments = Readonly<Record<string, unknown>>

const KINDS: Readonly<Record<string, { readonly words: string; is(value: unknown): boolean }>> = {
  string: { words: 'a text', is: (value) => typeof value === 'string' },
  integer: { words: 'a whole number', is: Number.isSafeInteger },
  boolean: { words: 'true or false', is: (value) => typeof value === 'boolean' },
  object: { words: 'an object', is: isRecord },
  array: { words: 'a list', is: Array.isArray },
}

/** Checks arguments and notes errors. `null` counts as absent: many models send it for missing values. */
export function checkArguments(
  sent: Arguments,
  { properties, required = [] }: Takes,
  errors: Errors,
  at = '',
): Arguments {
  const names = Object.keys(properties)
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null))
  for (const [name, value] of Object.entries(given)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (schema === undefined) addError(errors, at + name, () => unknownArgument(name, names))
    else addKindError(errors, at + name, schema, value)
  }
  for (const name of required) if (given[name] === undefined) addError(errors, at + name, 'is required')
  return given
}

function unknownArgument(name: string, names: readonly string[]): string {
  const guess = didYouMean(name, names)
  return `is not known here${guess === '' ? `: known are ${names.join(', ')}` : guess}`
}

function addKindError(errors: Errors, path: string, schema: JsonSchema, value: unknown): void {
  const kinds = [schema.type].flat().flatMap((type) => KINDS[String(type)] ?? [])
  if (kinds.length > 0 && !kinds.some((kind) => kind.is(value)))
    addError(errors, path, `must be ${kinds.map(({ words }) => words).join(' or ')}`)
  else if (typeof value === 'string' && !value.isWellFormed())
    addError(errors, path, 'must not contain half of a surrogate pair')
  else if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    addError(
      errors,
      path,
      () => `must be one of ${schema.enum}${didYouMean(String(value), schema.enum as string[])}`,
    )
}

/** Converts the arguments with these names to parameters of a URL. */
export function asQuery(given: Arguments, names: readonly string[]): Record<string, string> {
  const query: Record<string, string> = {}
  for (const name of names) {
    const value = given[name]
    if (value !== undefined) query[name] = typeof value === 'boolean' ? (value ? '1' : '0') : String(value)
  }
  return query
}

/** Reads `run` and `reason` of a write. */
export function noteOf({ run, reason }: Arguments): ReturnType<typeof parseNote> {
  try {
    return parseNote(textOf(run), reason === undefined ? null : encodeURIComponent(String(reason)))
  } catch (error) {
    if (!(error instanceof Failure) || error.errors === undefined) throw error
    // Over HTTP they are headers.
    const named = [...error.errors].map(([name, said]) => [name.replace('Takeback-', '').toLowerCase(), said])
    throw invalid(new Map(named as [string, string[]][]))
  }
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : String(value)
}
