import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { send, transport } from '../api.ts'
import { explain } from '../explain.ts'
import { modelQuery } from '../model.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useSessionChange } from '../session.ts'
import { useTexts } from '../texts/index.ts'

export function SignInPage() {
  const texts = useTexts()
  const { data: model } = useQuery(modelQuery)
  const [failure, setFailure] = useState<string>()
  const changed = useSessionChange()
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    try {
      const { body } = await send('POST', 'auth/login', {
        repeat: 'never',
        body: { email: form.get('email'), password: form.get('password'), user_type: form.get('type') },
      })
      await transport.session.keep(body as { token: string; expires_at: string })
      await changed()
    } catch (error) {
      setFailure(explain(error, texts))
    }
  }
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <h1>
          <Icon name="undo" size={24} /> Takeback
        </h1>
        <input name="type" type="hidden" defaultValue={model?.sign_in.types[0]?.user_type ?? 'admin'} />
        <label>
          E-Mail <input name="email" type="email" required autoComplete="username" />
        </label>
        <label>
          Password <input name="password" type="password" required autoComplete="current-password" />
        </label>
        {failure !== undefined && <p role="alert">{failure}</p>}
        <Button type="submit" tone="main">
          Sign in
        </Button>
      </form>
    </main>
  )
}
