import { budget } from '../../budget.ts'
import { addError, type Errors } from '../../errors.ts'
import type { CelValue } from '../server-value.ts'
import { aValue, common, type FieldOptions, type FieldType } from './field.ts'
import { INEXACT, isInexact } from './number.ts'
import { storable } from './text.ts'

export interface BooleanOptions extends FieldOptions {
  readonly default?: boolean | CelValue
}
export interface JsonOptions extends FieldOptions {
  readonly default?: unknown
}
export interface SecretOptions extends FieldOptions {
  readonly optional?: boolean
}
export interface BooleanDeclaration extends BooleanOptions {
  readonly type: 'boolean'
}
export interface JsonDeclaration extends JsonOptions {
  readonly type: 'json'
}
export interface SecretDeclaration extends SecretOptions {
  readonly type: 'secret'
}

export const booleanType: FieldType<BooleanDeclaration> = {
  column: 'boolean',
  options: { ...common, default: aValue },
  check: () => (value, path, errors) => {
    if (typeof value !== 'boolean') addError(errors, path, 'must be true or false')
    return value
  },
  schema: () => ({ type: 'boolean' }),
}

/** Checks that JSON can be returned as it was sent. A whole number beyond 2^53 cannot, so it is refused. */
function checkJson(value: unknown, path: string, errors: Errors): void {
  if (typeof value === 'string') storable(value, path, errors)
  else if (typeof value === 'number' && !Number.isFinite(value)) addError(errors, path, 'must be a number')
  else if (typeof value === 'number' && isInexact(value)) addError(errors, path, INEXACT)
  else if (Array.isArray(value))
    for (const [at, item] of value.entries()) checkJson(item, `${path}.${at}`, errors)
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      if (storable(key, path, errors)) checkJson(item, `${path}.${key}`, errors)
    }
}

export const jsonType: FieldType<JsonDeclaration> = {
  column: 'json',
  options: { ...common, default: aValue },
  check: () => (value, path, errors) => {
    checkJson(value, path, errors)
    return value
  },
  schema: () => ({ description: 'Any JSON.' }),
}

export const secretType: FieldType<SecretDeclaration> = {
  column: 'text',
  options: common,
  check: () => (value, path, errors) => {
    if (!storable(value, path, errors)) return undefined
    if (value === '') addError(errors, path, 'must have at least 1 character')
    if (Buffer.byteLength(value) > budget.secretBytes)
      addError(errors, path, `must have at most ${budget.secretBytes} bytes`)
    return value
  },
  schema: () => ({
    type: 'string',
    format: 'password',
    minLength: 1,
    maxLength: budget.secretBytes,
    writeOnly: true,
  }),
}
