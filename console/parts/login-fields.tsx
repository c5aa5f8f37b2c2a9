import { useTexts } from '../texts/index.ts'
import { FormField } from './form-field.tsx'
import type { Submitting } from './use-submit.ts'

interface Of {
  /** The form that it is in. */
  readonly form: Pick<Submitting, 'wrong'>
}

/** The password as a call takes it: left out if it is empty, since accounts that a provider made have none. */
export function proofOf({ password = '' }: Readonly<Record<string, string>>): { readonly password?: string } {
  return password === '' ? {} : { password }
}

/** Asks for the password to confirm something. Accounts without one leave it empty. */
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
  /** For password managers. */
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
