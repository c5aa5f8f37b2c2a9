import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { OpenInvitation } from '../../../client/system.ts'
import { actAs, auth, type EntityData, get, own, send } from '../../api.ts'
import { explain } from '../../explain.ts'
import { type EntityType, nameOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useTexts } from '../../texts/index.ts'
import { Sessions } from './sessions.tsx'

interface PersonProps {
  readonly type: EntityType
  readonly data: EntityData
  /** The open invitation, if the user has not set a password yet. */
  readonly invitation: OpenInvitation | undefined
  onClose(): void
}

/** The actions of an admin on a user's account. */
export function Person({ type, data, invitation, onClose }: PersonProps) {
  const texts = useTexts()
  const user = `${type.name}/${data.id}`
  const [failure, setFailure] = useState<string>()
  const act = async () => {
    try {
      const { body } = await own.send('POST', 'auth/as/', { body: { user } })
      const { token, expires_at } = body as { token: string; expires_at: string }
      actAs({ user: nameOf(type, data), token, expires_at })
    } catch (error) {
      setFailure(explain(error, texts))
    }
  }
  const reset = async () => {
    try {
      await auth.forgot({ email: String(data.email), user_type: type.login?.user_type ?? null })
      showToast({ text: texts.signIn.linkSent(String(data.email)) })
    } catch (error) {
      setFailure(explain(error, texts))
    }
  }
  const inviteAgain = async () => {
    try {
      await send('POST', 'auth/invitations/', { body: { user } })
      showToast({ text: texts.people.sentAgain(String(data.email)) })
    } catch (error) {
      setFailure(explain(error, texts))
    }
  }
  return (
    <Dialog title={nameOf(type, data)} onClose={onClose} wide>
      <div className="stack">
        <div className="buttons">
          <Button icon="eye" onClick={() => void act()}>
            {texts.people.actAs}
          </Button>
          {invitation === undefined ? (
            <Button icon="lock" onClick={() => void reset()}>
              {texts.people.sendReset}
            </Button>
          ) : (
            <Button icon="lock" onClick={() => void inviteAgain()}>
              {texts.people.inviteAgain}
            </Button>
          )}
          <Link className="button" href={`/operations?actor=${encodeURIComponent(user)}`}>
            {texts.people.done}
          </Link>
          <Link className="button" href={`/auth/keys?user=${encodeURIComponent(user)}`}>
            {texts.nav.keys}
          </Link>
          <Link className="button" href={`/${user}`}>
            {texts.people.edit}
          </Link>
        </div>
        {invitation !== undefined && <p className="muted">{texts.people.notSetYet}</p>}
        {failure !== undefined && <p role="alert">{failure}</p>}
        <h3>{texts.account.sessions}</h3>
        <Sessions user={user} />
        <Factor user={user} />
      </div>
    </Dialog>
  )
}

/** Removes the second factor of a user who has lost the phone. */
function Factor({ user }: { readonly user: string }) {
  const texts = useTexts()
  const { data, refetch } = useQuery({
    queryKey: ['auth', 'totp', user],
    queryFn: ({ signal }) => get<{ active: boolean }>('auth/totp/', { user }, signal),
    retry: false,
  })
  if (data?.active !== true) return null
  const remove = async () => {
    await send('DELETE', 'auth/totp/', { query: { user } })
    await refetch()
  }
  return (
    <>
      <h3>{texts.account.factor}</h3>
      <Button tone="danger" onClick={() => void remove()}>
        {texts.account.factorOff}
      </Button>
    </>
  )
}
