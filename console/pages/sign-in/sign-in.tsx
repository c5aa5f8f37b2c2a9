import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { type Model, modelQuery } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { QueryState } from '../../parts/states.tsx'
import { changeSettings, useSettings } from '../../settings.ts'
import { useTexts } from '../../texts/index.ts'
import { FirstAdmin } from './first-admin.tsx'
import { Forgot } from './forgot.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { PasswordForm } from './password-form.tsx'
import { ProviderButtons, ProviderReturn, returnedFromProvider } from './provider.tsx'

/** The page for users who are not signed in. */
export function SignInPage() {
  const query = useQuery(modelQuery)
  if (query.data === undefined) return <QueryState query={query} />
  return (
    <SignInFrame>
      <SignInMethod model={query.data} />
    </SignInFrame>
  )
}

function SignInMethod({ model }: { readonly model: Model }) {
  const { first_admin, providers, passkeys } = model.sign_in
  const texts = useTexts().signIn
  const [isForgotten, setForgotten] = useState(false)
  const [hasAccount, setHasAccount] = useState(false)
  const [back, setBack] = useState(returnedFromProvider)
  if (first_admin !== null && !hasAccount)
    return <FirstAdmin wanted={first_admin} onSignIn={() => setHasAccount(true)} />
  if (isForgotten) return <Forgot onBack={() => setForgotten(false)} />
  if (back !== undefined) return <ProviderReturn back={back} onBack={() => setBack(undefined)} />
  return (
    <>
      <h1>{texts.title}</h1>
      <PasswordForm />
      <button type="button" className="link" onClick={() => setForgotten(true)}>
        {texts.forgot}
      </button>
      {(passkeys || providers.length > 0) && <p className="or">{texts.or}</p>}
      {passkeys && <PasskeyButton />}
      <ProviderButtons providers={providers} />
    </>
  )
}

/** The frame of all pages before the sign-in is complete. */
export function SignInFrame({ children }: { readonly children: ReactNode }) {
  const texts = useTexts()
  const { language } = useSettings()
  useEffect(() => {
    document.title = `${texts.signIn.title} · Takeback`
  }, [texts])
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <p className="brand">
          <Icon name="undo" size={20} /> Takeback
        </p>
        {children}
      </div>
      <Button
        tone="plain"
        title={texts.language}
        onClick={() => void changeSettings({ language: language === 'en' ? 'de' : 'en' })}
      >
        {language === 'en' ? 'Deutsch' : 'English'}
      </Button>
    </main>
  )
}
