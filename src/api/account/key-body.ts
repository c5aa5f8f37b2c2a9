import type { KeyTerms } from '../../account/keys.ts'
import { budget } from '../../budget.ts'
import { didYouMean } from '../../declare/closest.ts'
import { type Action, actions } from '../../declare/define.ts'
import { parseInstant } from '../../declare/fields/time.ts'
import type { Model } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors } from '../../errors.ts'
import { ALONE, type KeyLimits, type KeyRights, keyLimits } from '../../plan/viewer/key-scope.ts'

const TERMS = ['name', 'expires_at', 'can', 'limits', 'agent'] as const
const CAN = ['entities', 'read_only'] as const

/** The defaults of a new key. */
export const plainTerms: KeyTerms = { name: '', expires_at: null, can: {}, limits: {}, agent: false }

/** Reads the terms of a key from a body, and notes errors. `more`: other keys that the body may have. */
export function parseTerms(
  model: Model,
  body: Readonly<Record<string, unknown>>,
  { before, more = [] }: { readonly before: KeyTerms; readonly more?: readonly string[] },
  errors: Errors,
): KeyTerms {
  refuseUnknown(body, '', [...TERMS, ...more], errors)
  const given = <T>(name: (typeof TERMS)[number], parse: (value: unknown) => T, empty: T, former: T): T => {
    const value = body[name]
    return value === undefined ? former : value === null ? empty : parse(value)
  }
  return {
    name: given('name', (value) => parseName(value, errors), '', before.name),
    expires_at: given('expires_at', (value) => parseExpiry(value, errors), null, before.expires_at),
    can: given('can', (value) => parseRights(model, value, errors), {}, before.can),
    limits: given('limits', (value) => parseLimits(value, errors), {}, before.limits),
    agent: given('agent', (value) => parseBoolean(value, 'agent', errors), false, before.agent),
  }
}

function refuseUnknown(
  given: Readonly<Record<string, unknown>>,
  path: string,
  known: readonly string[],
  errors: Errors,
): void {
  for (const name of Object.keys(given))
    if (!known.includes(name))
      addError(
        errors,
        placeOf(path, name),
        () => `is not known here${didYouMean(name, known) || `: there are ${known.join(', ')}`}`,
      )
}

function placeOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function parseName(value: unknown, errors: Errors): string {
  if (typeof value === 'string' && isName(value)) return value
  addError(errors, 'name', `must be a text of 1 to ${budget.keyNameCharacters} characters, in one line`)
  return ''
}

/** Whether a text is a single line that can be shown anywhere. */
function isName(text: string): boolean {
  const { length } = [...text]
  return (
    length > 0 &&
    length <= budget.keyNameCharacters &&
    text.isWellFormed() &&
    text.trim() === text &&
    !/\p{Cc}|\p{Zl}|\p{Zp}/u.test(text)
  )
}

function parseExpiry(value: unknown, errors: Errors): string | null {
  const instant = parseInstant(value)
  if (instant !== undefined) return instant
  addError(errors, 'expires_at', 'must be a time with a zone, such as 2026-12-31T18:00:00Z')
  return null
}

function parseBoolean(value: unknown, path: string, errors: Errors): boolean {
  if (typeof value !== 'boolean') addError(errors, path, 'must be true or false')
  return value === true
}

function parseRights(model: Model, value: unknown, errors: Errors): KeyRights {
  if (!isRecord(value)) {
    addError(errors, 'can', 'must be an object, such as {"entities": {"bookings": ["read"]}}')
    return {}
  }
  refuseUnknown(value, 'can', CAN, errors)
  const { entities, read_only: readOnly } = value
  return {
    ...(entities != null && { entities: parseEntities(model, entities, errors) }),
    ...(readOnly != null && { read_only: parseBoolean(readOnly, 'can.read_only', errors) }),
  }
}

function parseEntities(
  { entities }: Model,
  value: unknown,
  errors: Errors,
): NonNullable<KeyRights['entities']> {
  const path = 'can.entities'
  if (!isRecord(value) || Object.keys(value).length === 0) {
    addError(
      errors,
      path,
      'must be an object with actions for each Entity type, such as {"bookings": ["read"]}',
    )
    return {}
  }
  refuseUnknown(value, path, [...entities.keys()], errors)
  return Object.fromEntries(
    Object.entries(value).map(([name, may]) => [name, parseActions(may, `${path}.${name}`, errors)]),
  )
}

function parseActions(value: unknown, path: string, errors: Errors): readonly Action[] {
  if (!Array.isArray(value) || value.length === 0) {
    addError(errors, path, `must be a list of ${actions.join(', ')}`)
    return []
  }
  for (const one of value)
    if (!actions.includes(one))
      addError(errors, path, () => {
        const word = String(one)
        return `"${word}" is not an action${didYouMean(word, actions) || `: there are ${actions.join(', ')}`}`
      })
  const found = actions.filter((one) => value.includes(one))
  const needing = found.filter((one) => !ALONE.includes(one))
  if (needing.length > 0 && !found.includes('read'))
    addError(errors, path, 'must include read: without it, only create is possible')
  return found
}

function parseLimits(value: unknown, errors: Errors): KeyLimits {
  if (!isRecord(value)) {
    addError(errors, 'limits', 'must be an object, such as {"changes_per_hour": 100}')
    return {}
  }
  refuseUnknown(value, 'limits', keyLimits, errors)
  const found = keyLimits.flatMap((name): [string, number][] => {
    const limit = value[name]
    if (limit === undefined || limit === null) return []
    if (Number.isSafeInteger(limit) && Number(limit) >= 0 && Number(limit) <= budget.keyLimit)
      return [[name, Number(limit)]]
    addError(errors, `limits.${name}`, `must be a whole number from 0 to ${budget.keyLimit}`)
    return []
  })
  return Object.fromEntries(found)
}
