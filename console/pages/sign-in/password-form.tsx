import { useState } from 'react'
import { ApiError } from '../../api.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { EmailField } from '../../parts/login-fields.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useSignIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'

/** Asks for e-mail and password, then for a code if the account needs one. */
export function PasswordForm({ email }: { readonly email?: string }) {
  const texts = useTexts().signIn
  const signIn = useSignIn()
  const [wantsCode, setWantsCode] = useState(false)
  const { submit, isBusy, failure, wrong } = useSubmit(async ({ code, ...values }) => {
    try {
      await signIn('login', { ...values, ...(code && { code: code.trim() }) })
    } catch (error) {
      const isWanted = error instanceof ApiError && error.code === 'second_factor_required'
      if (!isWanted) throw error
      setWantsCode(true)
    }
  })
  return (
    <form onSubmit={submit}>
      <EmailField form={{ wrong }} email={email} autoComplete="username webauthn" />
      <FormField
        label={texts.password}
        name="password"
        type="password"
        required
        autoComplete="current-password"
        wrong={wrong('password')}
      />
      {wantsCode && (
        <FormField
          label={texts.code}
          name="code"
          type="text"
          hint={texts.codeHint}
          required
          autoFocus
          autoComplete="one-time-code"
          inputMode="numeric"
          wrong={wrong('code')}
        />
      )}
      {failure !== undefined && <p role="alert">{failure}</p>}
      <Button type="submit" tone="main" disabled={isBusy}>
        {texts.submit}
      </Button>
    </form>
  )
}
