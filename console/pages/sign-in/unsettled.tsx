import { lazy, Suspense } from 'react'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/states.tsx'
import { useSessionChange, useSignOut } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'
import { SignInFrame } from './sign-in.tsx'

const PasswordChange = lazy(async () => ({
  default: (await import('../account/change-password.tsx')).PasswordChange,
}))
const FactorSetUp = lazy(async () => ({
  default: (await import('../account/second-factor.tsx')).FactorSetUp,
}))

/** Asks for what must be done before anything else: a new password, or a second factor. */
export default function Unsettled({ code }: { readonly code: string }) {
  const texts = useTexts()
  const changed = useSessionChange()
  const signOut = useSignOut()
  const isPassword = code === 'password_change_required'
  return (
    <SignInFrame>
      <h1>{isPassword ? texts.signIn.changeTitle : texts.account.factor}</h1>
      <p className="muted">{isPassword ? texts.signIn.changeHelp : texts.account.mustSetUp}</p>
      <Suspense fallback={<Loading />}>
        {isPassword ? <PasswordChange min={12} /> : <FactorSetUp onDone={() => void changed()} />}
      </Suspense>
      <Button tone="plain" onClick={() => void signOut()}>
        {texts.signOut}
      </Button>
    </SignInFrame>
  )
}
