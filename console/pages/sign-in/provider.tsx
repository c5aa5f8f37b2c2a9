import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api.ts'
import { explain } from '../../explain.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { Loading } from '../../parts/states.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useSignIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'

/** The key of a secret that only this browser knows, so that nobody else can use the code that comes back. */
const VERIFIER = 'takeback verifier'

interface Provider {
  readonly name: string
  readonly label: string
  readonly start: string
}

export function ProviderButtons({ providers }: { readonly providers: readonly Provider[] }) {
  const texts = useTexts().signIn
  return providers.map((provider) => (
    <Button key={provider.name} icon="out" onClick={() => void goTo(provider)}>
      {texts.provider(provider.label)}
    </Button>
  ))
}

async function goTo({ start }: Provider): Promise<void> {
  const verifier = crypto.randomUUID() + crypto.randomUUID()
  sessionStorage.setItem(VERIFIER, verifier)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const code_challenge = btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
  const query = new URLSearchParams({ return_to: `${location.origin}/console/`, code_challenge })
  // Only the path, because the server may know itself under another name.
  location.assign(`${new URL(start, location.href).pathname}?${query}`)
}

/** The parameters with which a provider sends the browser back. */
export interface Returned {
  readonly code?: string
  readonly error?: string
}

/** Returns undefined if the browser does not come from a provider. */
export function returnedFromProvider(): Returned | undefined {
  const { code, error } = Object.fromEntries(new URLSearchParams(location.search))
  const isBack = sessionStorage.getItem(VERIFIER) !== null && (code !== undefined || error !== undefined)
  return isBack ? { ...(code && { code }), ...(error && { error }) } : undefined
}

/** Completes a login through a provider: with the code that came back, and a second factor if there is one. */
export function ProviderReturn({ back, onBack }: { readonly back: Returned; onBack(): void }) {
  const texts = useTexts()
  const signIn = useSignIn()
  const [failure, setFailure] = useState<string | undefined>(
    back.error && texts.signIn.providerFailed(back.error),
  )
  const [wantsCode, setWantsCode] = useState(false)
  const exchange = (second_factor?: string) =>
    signIn('providers/exchange', {
      code: back.code,
      code_verifier: sessionStorage.getItem(VERIFIER),
      ...(second_factor && { second_factor }),
    })
  const isBegun = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a code works once.
  useEffect(() => {
    if (isBegun.current) return
    isBegun.current = true
    history.replaceState(null, '', location.pathname)
    if (back.code === undefined) return
    exchange().catch((error) => {
      if (error instanceof ApiError && error.code === 'second_factor_required') setWantsCode(true)
      else setFailure(explain(error, texts))
    })
  }, [])
  const form = useSubmit(async ({ code = '' }) => exchange(code.trim()))
  if (wantsCode)
    return (
      <form onSubmit={form.submit}>
        <h1>{texts.signIn.title}</h1>
        <FormField
          label={texts.signIn.code}
          name="code"
          type="text"
          hint={texts.signIn.codeHint}
          required
          autoFocus
          autoComplete="one-time-code"
        />
        {form.failure !== undefined && <p role="alert">{form.failure}</p>}
        <Button type="submit" tone="main" disabled={form.isBusy}>
          {texts.signIn.submit}
        </Button>
      </form>
    )
  if (failure === undefined) return <Loading />
  return (
    <>
      <h1>{texts.signIn.title}</h1>
      <p role="alert">{failure}</p>
      <button type="button" className="link" onClick={onBack}>
        {texts.signIn.back}
      </button>
    </>
  )
}
