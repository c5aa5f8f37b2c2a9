import { useQuery, useQueryClient } from '@tanstack/react-query'
import { auth, get, own, Unauthenticated } from './api.ts'

/** Who is signed in. */
export interface Me {
  readonly id: number
  readonly user_type: string
  readonly email?: string
  readonly name?: string
  readonly password_expires_at?: string
  readonly [more: string]: unknown
}

const ME = ['me']

/** `null`: nobody. `undefined`: not known yet. */
export function useMe(): Me | null | undefined {
  return useQuery({
    queryKey: ME,
    queryFn: async ({ signal }) => {
      try {
        return await get<Me>('auth/me', {}, signal)
      } catch (error) {
        if (error instanceof Unauthenticated) return null
        throw error
      }
    },
    staleTime: 60_000,
  }).data
}

/** Whoever asks only below `<Shell>` is signed in. */
export function useSignedIn(): Me {
  const me = useMe()
  if (me === null || me === undefined) throw new Error('Nobody is signed in.')
  return me
}

/** To be called after a login, and after the end of a session: all that is known was for somebody else. */
export function useSessionChange(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
    await queries.invalidateQueries()
  }
}

/**
 * Any way to sign in: sends the proof, and keeps the session of the answer. The `user_type` of an account is not asked
 * for: the e-mail is looked for among all of them.
 */
export function useSignIn(): (path: string, body: object) => Promise<void> {
  const changed = useSessionChange()
  return async (path, body) => {
    const device = await own.session.device()
    const answer = await own.send('POST', `auth/${path}`, {
      repeat: 'never',
      body,
      headers: { 'Takeback-Device': device },
    })
    await own.session.keep(
      answer.body as { token: string; expires_at: string },
      answer.headers.get('takeback-device'),
    )
    await changed()
  }
}

export function useSignOut(): () => Promise<void> {
  const changed = useSessionChange()
  return async () => {
    await auth.logout().catch(() => {})
    await changed()
  }
}
