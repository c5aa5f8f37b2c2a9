import { budget } from '../../budget.ts'
import { addError } from '../../errors.ts'
import type { FieldType } from './field.ts'
import { strengthOf } from './password-strength.ts'
import { storable } from './text.ts'

/** The password of a login type: added by `login`, never written by users themselves. */
export interface PasswordDeclaration {
  readonly type: 'password'
  readonly min: number
}

export const PASSWORD_MIN = 12

/** The error for a password that is easy to guess from its account's e-mail and names (`own`), if it is. */
export function faultOfOwn(password: string, own: readonly string[]): string | undefined {
  return strengthOf(password, own) < budget.passwordBits
    ? 'is too much like the e-mail, or a name of this application; choose another'
    : undefined
}

export const passwordType: FieldType<PasswordDeclaration> = {
  column: 'text',
  options: {},
  check:
    ({ min }) =>
    (value, path, errors) => {
      if (!storable(value, path, errors)) return undefined
      if ([...value].length < min) addError(errors, path, `must have at least ${min} characters`)
      else if (Buffer.byteLength(value) > budget.secretBytes)
        addError(errors, path, `must have at most ${budget.secretBytes} bytes`)
      else if (strengthOf(value) < budget.passwordBits)
        addError(errors, path, 'is one of the most common passwords; choose another')
      return value
    },
  schema: ({ min }) => ({
    type: 'string',
    format: 'password',
    minLength: min,
    maxLength: budget.secretBytes,
    writeOnly: true,
  }),
}
