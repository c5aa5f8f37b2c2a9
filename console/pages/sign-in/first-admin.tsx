import { useState } from 'react'
import { fieldErrors } from '../../explain.ts'
import { labelOf, type Model } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { EmailField } from '../../parts/login-fields.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useSignIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'

type FirstAdminFields = NonNullable<Model['sign_in']['first_admin']>

/** The token in the link that the terminal shows. It follows the `#`, so that it is not part of requests. */
const TOKEN = /#first-admin=(.+)$/

interface FirstAdminProps {
  readonly wanted: FirstAdminFields
  /** Called if they would rather sign in with the account that the terminal shows. */
  onSignIn(): void
}

/** Creates the first admin, for whoever knows the token that the terminal shows. */
export function FirstAdmin({ wanted, onSignIn }: FirstAdminProps) {
  const allTexts = useTexts()
  const texts = allTexts.signIn
  const signIn = useSignIn()
  const [token, setToken] = useState(() => TOKEN.exec(location.hash)?.[1])
  const { submit, isBusy, failure, wrong } = useSubmit(async (values) => {
    try {
      const typed = values.token?.trim()
      await signIn('first-admin/', {
        ...values,
        // If the whole link was pasted, only its token counts.
        token: token ?? (typed && (TOKEN.exec(typed)?.[1] ?? typed)),
      })
    } catch (error) {
      // The link is outdated: ask for the token.
      if (fieldErrors(error, allTexts).token !== undefined) setToken(undefined)
      throw error
    }
    history.replaceState(null, '', location.pathname)
  })
  return (
    <form onSubmit={submit}>
      <h1>{texts.firstTitle}</h1>
      <p className="muted">{texts.firstHelp}</p>
      <EmailField form={{ wrong }} autoFocus />
      <FormField
        label={texts.newPassword}
        name="password"
        type="password"
        required
        minLength={wanted.password_min}
        autoComplete="new-password"
        hint={texts.passwordHint(wanted.password_min)}
        wrong={wrong('password')}
      />
      {wanted.fields.map((field) => (
        <FormField
          key={field.path}
          label={labelOf(field)}
          name={field.path}
          type="text"
          required
          wrong={wrong(field.path)}
        />
      ))}
      {token === undefined && (
        <FormField
          label={texts.firstToken}
          name="token"
          type="text"
          required
          autoComplete="off"
          hint={texts.firstTokenHint}
          wrong={wrong('token')}
        />
      )}
      {failure !== undefined && <p role="alert">{failure}</p>}
      <Button type="submit" tone="main" disabled={isBusy}>
        {texts.firstSubmit}
      </Button>
      <button type="button" className="link" onClick={onSignIn}>
        {texts.firstSignIn}
      </button>
    </form>
  )
}
