import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { ApiError, actAs, actingAs, auth, get, own, Unauthenticated } from './api.ts'
import { forgetDrafts } from './drafts.ts'
import { notifyOtherTabs } from './other-tabs.ts'
import { goOn, isSessionOver, setSignedIn } from './session-end.ts'

/** The user who is signed in. */
export interface Me {
  readonly id: number
  readonly user_type: string
  readonly email?: string
  readonly name?: string
  readonly password_expires_at?: string
  readonly [more: string]: unknown
}

const ME = ['me']

/** Errors of a user who is signed in, but must do something first. */
const UNSETTLED = ['password_change_required', 'second_factor_setup_required']

export function isUnsettled(error: unknown): error is ApiError {
  return error instanceof ApiError && UNSETTLED.includes(error.code)
}

/** The query of the signed-in user: `null` for nobody, `undefined` if not known yet. */
export function useMeQuery() {
  const queries = useQueryClient()
  return useQuery({
    queryKey: ME,
    queryFn: async ({ signal }): Promise<Me | null> => {
      // Without a session there is no user.
      if (actingAs() === undefined && (await own.session.token()) === undefined)
        return queries.getQueryData<Me>(ME) ?? null
      try {
        const me = await get<Me>('auth/me', {}, signal)
        setSignedIn(true)
        return me
      } catch (error) {
        // A user who did not sign in again can still see, and copy, what they have typed.
        if (error instanceof Unauthenticated) return queries.getQueryData<Me>(ME) ?? null
        throw error
      }
    },
    staleTime: 60_000,
  })
}

/** The user, from `<Gate>` for all pages. In the cache, a page would see the session end before `<Gate>` removes it. */
export const SignedIn = createContext<Me | undefined>(undefined)

/** Returns the user. Pages are only shown to somebody who is signed in. */
export function useSignedIn(): Me {
  const me = useContext(SignedIn)
  if (me === undefined) throw new Error('Nobody is signed in.')
  return me
}

/** Clears all data, after a login and after the end of a session: it belonged to somebody else. */
export function useSessionChange(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
    await queries.invalidateQueries()
  }
}

/**
 * Signs in, in any way: sends the proof, and stores the session of the answer. There is no `user_type`: the e-mail is
 * looked up in all of them.
 */
export function useSignIn(): (path: string, body: object) => Promise<void> {
  const queries = useQueryClient()
  const changed = useSessionChange()
  return async (path, body) => {
    const device = await own.session.device()
    const answer = await own.send('POST', `auth/${path}`, {
      body,
      headers: { 'Takeback-Device': device },
    })
    const session = answer.body as { token: string; expires_at: string; user: Me }
    await own.session.keep(session, answer.headers.get('takeback-device'))
    notifyOtherTabs({ user: `${session.user.user_type} ${session.user.id}` })
    if (!isSessionOver()) return changed()
    // A different user must not see the work of the first one.
    const before = queries.getQueryData<Me>(ME)
    const isSame = before?.id === session.user.id && before.user_type === session.user.user_type
    if (!isSame) {
      forgetDrafts()
      return location.assign('/console/')
    }
    goOn()
    await queries.invalidateQueries()
  }
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    setSignedIn(false)
    forgetDrafts()
    await auth.logout().catch(() => {})
    notifyOtherTabs('out')
    // The next user must not act as somebody.
    if (actingAs() !== undefined) return actAs(undefined)
    // An answer that is on its way would sign them in again.
    await queries.cancelQueries({ queryKey: ME })
    // All at once: the sign-in form must not disappear again while somebody types in it.
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
    queries.setQueryData(ME, null)
  }
}
