import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { auth } from '../../api.ts'
import { useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { PresentPassword, proofOf } from '../../parts/login-fields.tsx'
import { QrCode } from '../../parts/qr-code.tsx'
import { showOnce } from '../../parts/shown-once.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { When } from '../../parts/when.tsx'
import { useSignedIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'

const FACTOR = ['auth', 'totp']

/** Sets up an authenticator app, if the user type allows it. */
export function SecondFactor() {
  const texts = useTexts().account
  const { user_type } = useSignedIn()
  const { entities } = useModel()
  const isDeclared = entities.some(({ login }) => login?.user_type === user_type && login.second !== 'none')
  const { data } = useQuery({
    queryKey: FACTOR,
    queryFn: ({ signal }) => auth.totp.get({ signal }),
    enabled: isDeclared,
  })
  if (!isDeclared || data === undefined) return null
  return (
    <section className="card">
      <h2>{texts.factor}</h2>
      {data.active ? <ActiveFactor since={data.since} codes={data.recovery_codes} /> : <FactorSetUp />}
    </section>
  )
}

function ActiveFactor({ since, codes }: { readonly since: string | null; readonly codes: number }) {
  const texts = useTexts().account
  const queries = useQueryClient()
  const show = useRecoveryCodes()
  const renew = useSubmit(async (values) => {
    const { recovery_codes } = await auth.totp.recoveryCodes(codeOrPassword(values))
    void show(recovery_codes)
    await queries.invalidateQueries({ queryKey: FACTOR })
  })
  const remove = useSubmit(async (values) => {
    await auth.totp.remove(codeOrPassword(values))
    await queries.invalidateQueries({ queryKey: FACTOR })
  })
  return (
    <>
      <p>
        <span className="badge good">{texts.factorOn}</span> {since !== null && <When at={since} />}
      </p>
      <p className="muted">{texts.codesLeft(codes)}</p>
      <Confirmed title={texts.newCodes} form={renew} />
      <Confirmed title={texts.factorOff} form={remove} isDanger />
    </>
  )
}

interface ConfirmedProps {
  readonly title: string
  readonly form: ReturnType<typeof useSubmit>
  readonly isDanger?: boolean
}

function codeOrPassword({ code = '', password = '' }: Readonly<Record<string, string>>) {
  return code.trim() === '' ? { password } : { code: code.trim() }
}

/** A form that asks for the password or a code. Accounts made by a provider have no password. */
function Confirmed({ title, form, isDanger = false }: ConfirmedProps) {
  const { signIn } = useTexts()
  return (
    <details>
      <summary>{title}</summary>
      <form onSubmit={form.submit}>
        <PresentPassword form={form} required={false} />
        <FormField
          label={signIn.codeInstead}
          name="code"
          type="text"
          autoComplete="one-time-code"
          wrong={form.wrong('code')}
        />
        {form.failure !== undefined && <p role="alert">{form.failure}</p>}
        <Button type="submit" disabled={form.isBusy} {...(isDanger && { tone: 'danger' as const })}>
          {title}
        </Button>
      </form>
    </details>
  )
}

/** Password → QR code → first code → recovery codes. */
export function FactorSetUp({ onDone }: { onDone?(): void }) {
  const texts = useTexts()
  const queries = useQueryClient()
  const [made, setMade] = useState<{ secret: string; uri: string }>()
  const show = useRecoveryCodes()
  const begin = useSubmit(async (values) => setMade(await auth.totp.setUp(proofOf(values))))
  const confirm = useSubmit(async ({ code = '' }) => {
    const { recovery_codes } = await auth.totp.confirm({ code: code.trim() })
    await show(recovery_codes)
    onDone?.()
    await queries.invalidateQueries({ queryKey: FACTOR })
  })
  if (made !== undefined)
    return (
      <form key="code" onSubmit={confirm.submit}>
        <p className="muted">{texts.account.scan}</p>
        <QrCode text={made.uri} label={texts.account.qr} />
        <p>
          <code className="breakable">{made.secret}</code>
        </p>
        <FormField
          label={texts.signIn.code}
          name="code"
          type="text"
          required
          autoComplete="one-time-code"
          inputMode="numeric"
          wrong={confirm.wrong('code')}
        />
        {confirm.failure !== undefined && <p role="alert">{confirm.failure}</p>}
        <Button type="submit" tone="main" disabled={confirm.isBusy}>
          {texts.account.factorConfirm}
        </Button>
      </form>
    )
  return (
    <form key="password" onSubmit={begin.submit}>
      <p className="muted">{texts.account.factorHelp}</p>
      <PresentPassword form={begin} required={false} />
      {begin.failure !== undefined && <p role="alert">{begin.failure}</p>}
      <Button type="submit" disabled={begin.isBusy}>
        {texts.account.factorSetUp}
      </Button>
    </form>
  )
}

function useRecoveryCodes(): (codes: readonly string[]) => Promise<void> {
  const { account, tryApi } = useTexts()
  return (codes) =>
    showOnce({
      title: account.codes,
      help: account.codesHelp,
      text: codes.join('\n'),
      copy: tryApi.copy,
      kept: account.codesKept,
    })
}
