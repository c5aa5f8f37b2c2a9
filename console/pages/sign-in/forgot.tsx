import { useState } from 'react'
import { auth } from '../../api.ts'
import { Button } from '../../parts/button.tsx'
import { EmailField } from '../../parts/login-fields.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useTexts } from '../../texts/index.ts'

/** Mails a link to set a new password. The answer is the same for every address. */
export function Forgot({ onBack }: { onBack(): void }) {
  const texts = useTexts().signIn
  const [sentTo, setSentTo] = useState<string>()
  const { submit, isBusy, failure, wrong } = useSubmit(async ({ email = '' }) => {
    await auth.forgot({ email })
    setSentTo(email)
  })
  return (
    <>
      <h1>{texts.forgotTitle}</h1>
      {sentTo === undefined ? (
        <form onSubmit={submit}>
          <p className="muted">{texts.forgotHelp}</p>
          <EmailField form={{ wrong }} autoFocus />
          {failure !== undefined && <p role="alert">{failure}</p>}
          <Button type="submit" tone="main" disabled={isBusy}>
            {texts.sendLink}
          </Button>
        </form>
      ) : (
        <p role="status">{texts.linkSent(sentTo)}</p>
      )}
      <button type="button" className="link" onClick={onBack}>
        {texts.back}
      </button>
    </>
  )
}
