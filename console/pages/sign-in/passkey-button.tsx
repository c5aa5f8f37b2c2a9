import { useState } from 'react'
import { auth } from '../../api.ts'
import { explain } from '../../explain.ts'
import { Button } from '../../parts/button.tsx'
import { askForPasskey, canUsePasskeys } from '../../passkeys.ts'
import { useSignIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'

export function PasskeyButton() {
  const texts = useTexts()
  const signIn = useSignIn()
  const [failure, setFailure] = useState<string>()
  if (!canUsePasskeys) return null
  const run = async () => {
    setFailure(undefined)
    try {
      const credential = await askForPasskey(await auth.passkeys.loginOptions())
      await signIn('passkeys/login', { credential })
    } catch (error) {
      // The browser throws this if the user closes its dialog.
      const isCancelled = error instanceof DOMException && error.name === 'NotAllowedError'
      if (!isCancelled) setFailure(explain(error, texts))
    }
  }
  return (
    <>
      <Button icon="key" onClick={() => void run()}>
        {texts.signIn.passkey}
      </Button>
      {failure !== undefined && <p role="alert">{failure}</p>}
    </>
  )
}
