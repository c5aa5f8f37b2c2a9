import { useState } from 'react'
import { auth } from '../../api.ts'
import { useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { PresentPassword } from '../../parts/login-fields.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useAttempt } from '../../parts/use-attempt.ts'
import { useSubmit } from '../../parts/use-submit.ts'
import { When } from '../../parts/when.tsx'
import { useSessionChange, useSignedIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'

export function ChangePassword() {
  const texts = useTexts()
  const { user_type, password_expires_at } = useSignedIn()
  const min = useModel().entities.find(({ login }) => login?.user_type === user_type)?.login?.password_min
  return (
    <section className="card">
      <h2>{texts.account.password}</h2>
      {password_expires_at !== undefined && (
        <p className="badge warn">
          {texts.account.temporary} <When at={password_expires_at} />
        </p>
      )}
      <PasswordChange min={min ?? 12} />
      <ForgottenPassword />
    </section>
  )
}

/** For users who forgot their password, or whose account was made by a provider and has none. */
function ForgottenPassword() {
  const { signIn } = useTexts()
  const { email = '', user_type } = useSignedIn()
  const { attempt, failure } = useAttempt()
  const send = async () => {
    await auth.forgot({ email, user_type })
    showToast({ text: signIn.linkSent(email) })
  }
  return (
    <details>
      <summary>{signIn.forgot}</summary>
      <p className="muted">{signIn.forgotHelp}</p>
      {failure !== undefined && <p role="alert">{failure}</p>}
      <Button icon="lock" onClick={() => attempt(send)}>
        {signIn.sendLink}
      </Button>
    </details>
  )
}

/** Ends all other sessions. */
export function PasswordChange({ min }: { readonly min: number }) {
  const texts = useTexts()
  const changed = useSessionChange()
  // The key of the form: a new one clears the passwords from the page.
  const [count, setCount] = useState(0)
  const { submit, isBusy, failure, wrong } = useSubmit(async ({ password = '', new_password = '' }) => {
    await auth.password({ password, new_password })
    setCount(count + 1)
    showToast({ text: texts.account.passwordChanged })
    await changed()
  })
  return (
    <form key={count} onSubmit={submit}>
      <PresentPassword form={{ wrong }} />
      <FormField
        label={texts.signIn.newPassword}
        name="new_password"
        type="password"
        required
        autoComplete="new-password"
        hint={texts.signIn.passwordHint(min)}
        wrong={wrong('new_password')}
      />
      {failure !== undefined && <p role="alert">{failure}</p>}
      <Button type="submit" disabled={isBusy}>
        {texts.signIn.changeSubmit}
      </Button>
    </form>
  )
}
