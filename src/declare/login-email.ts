import { emailSpelling } from './email-key.ts'
import type { Check } from './fields/field.ts'
import type { ValueField } from './model.ts'

/** The field of a login's e-mail: its values are stored in one spelling. */
export function spelledAlike(field: ValueField): ValueField {
  const check: Check = (value, path, errors) =>
    field.check(typeof value === 'string' ? emailSpelling(value) : value, path, errors)
  return Object.freeze({ ...field, check })
}
