import { useModel } from '../model.ts'
import { PasskeyButton } from '../pages/sign-in/passkey-button.tsx'
import { PasswordForm } from '../pages/sign-in/password-form.tsx'
import { useSignedIn } from '../session.ts'
import { giveUp, useIsSessionOver } from '../session-end.ts'
import { useTexts } from '../texts/index.ts'
import { Dialog } from './dialog.tsx'

/** A dialog over the page when the session has ended. The page continues after the sign-in. */
export function SignInAgain() {
  const texts = useTexts()
  const isOver = useIsSessionOver()
  const { email } = useSignedIn()
  const { passkeys } = useModel().sign_in
  if (!isOver) return null
  return (
    <Dialog title={texts.signIn.again} onClose={giveUp}>
      <div className="sign-in-again">
        <p>{texts.signIn.againHelp}</p>
        <PasswordForm {...(email !== undefined && { email })} />
        {passkeys && <PasskeyButton />}
      </div>
    </Dialog>
  )
}
