import { useTexts } from '../texts/index.ts'
import { FormField } from './form-field.tsx'
import type { Submitting } from './use-submit.ts'

interface Of {
  /** The form around it. */
  readonly form: Pick<Submitting, 'wrong'>
}

/** Returns the password for a call: left out if empty, because accounts made by a provider have none. */
export function proofOf({ password = '' }: Readonly<Record<string, string>>): { readonly password?: string } {
  return password === '' ? {} : { password }
}

/** Asks for the password as a confirmation. Accounts without one leave it empty. */
export function PresentPassword({ form, required = true }: Of & { readonly required?: boolean }) {
  return (
    <FormField
      label={useTexts().account.present}
      name="password"
      type="password"
      required={required}
      autoComplete="current-password"
      wrong={form.wrong('password')}
    />
  )
}

interface EmailOf extends Of {
  readonly email?: string | undefined
  readonly autoFocus?: boolean
  /** The hint for password managers. */
  readonly autoComplete?: string
}

export function EmailField({ form, email, autoFocus = false, autoComplete = 'username' }: EmailOf) {
  return (
    <FormField
      label={useTexts().signIn.email}
      name="email"
      type="email"
      defaultValue={email}
      required
      autoFocus={autoFocus}
      autoComplete={autoComplete}
      wrong={form.wrong('email')}
    />
  )
}
