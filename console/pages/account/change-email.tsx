import { useState } from 'react'
import { auth } from '../../api.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { PresentPassword, proofOf } from '../../parts/login-fields.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useTexts } from '../../texts/index.ts'

/** Changes the e-mail address, once the link in a mail to the new address is followed. */
export function ChangeEmail() {
  const texts = useTexts()
  const [sentTo, setSentTo] = useState<string>()
  const { submit, isBusy, failure, wrong } = useSubmit(async ({ email = '', ...proof }) => {
    await auth.email.change({ email, ...proofOf(proof) })
    setSentTo(email)
  })
  return (
    <section className="card">
      <h2>{texts.account.email}</h2>
      {sentTo === undefined ? (
        <form onSubmit={submit}>
          <FormField
            label={texts.account.newEmail}
            name="email"
            type="email"
            required
            autoComplete="email"
            wrong={wrong('email')}
          />
          <PresentPassword form={{ wrong }} required={false} />
          {failure !== undefined && <p role="alert">{failure}</p>}
          <Button type="submit" disabled={isBusy}>
            {texts.account.changeEmail}
          </Button>
        </form>
      ) : (
        <p role="status">{texts.account.emailSent(sentTo)}</p>
      )}
    </section>
  )
}
