import { budget } from '../../budget.ts'
import { note } from '../../errors.ts'
import type { FieldType } from './field.ts'
import { storable } from './text.ts'

/** The password of a login type: added by `login`, never written by users themselves. */
export interface PasswordDeclaration {
  readonly type: 'password'
  readonly min: number
}

export const PASSWORD_MIN = 12

let commonest: Set<string> | undefined

/** Half a megabyte that only a new password needs, so it is loaded by the first one. */
function loadCommonest(): Set<string> {
  const { dictionary } = require('@zxcvbn-ts/language-common') as typeof import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'] as Iterable<string>)
}

/** Also `passwordpassword` and `aaaaaaaaaaaa`: what is common stays so when it is said again. */
function isCommon(password: string): boolean {
  commonest ??= loadCommonest()
  const folded = password.toLowerCase()
  for (let length = 1; length <= folded.length; length++) {
    if (folded.length % length !== 0) continue
    const unit = folded.slice(0, length)
    if (unit.repeat(folded.length / length) === folded && (length < 4 || commonest.has(unit))) return true
  }
  return false
}

export const passwordType: FieldType<PasswordDeclaration> = {
  column: 'text',
  options: {},
  check:
    ({ min }) =>
    (value, path, errors) => {
      if (!storable(value, path, errors)) return undefined
      if ([...value].length < min) note(errors, path, `must have at least ${min} characters`)
      else if (Buffer.byteLength(value) > budget.secretBytes)
        note(errors, path, `must have at most ${budget.secretBytes} bytes`)
      else if (isCommon(value)) note(errors, path, 'is one of the commonest passwords; choose another')
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
