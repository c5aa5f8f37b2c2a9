import { noSession } from '../src/account/sessions.ts'
import { newSession } from '../src/account/tokens.ts'
import type { Context } from '../src/api/context.ts'

const { signal } = new AbortController()
const terms = { expires_at: null, can: {}, limits: {}, agent: false }
const identity = { provider: 'google', issuer: 'https://issuer.example.com' }

export interface Owner {
  readonly entity: string
  readonly id: number
}

/**
 * For each table: stores something for a user, like a request that looked up the user before. Texts from users have the
 * word in them.
 */
export const ownerWriters: Record<
  string,
  (context: Context, owner: Owner, word: string) => Promise<unknown>
> = {
  takeback_keys: ({ keys }, owner, name) =>
    keys.make(owner, { name, ...terms }, { calling: noSession, signal }),
  takeback_preferences: ({ preferences }, owner, word) => preferences.write(owner, JSON.stringify({ word })),
  takeback_sessions: async ({ sessions }, owner, agent) => {
    const visitor = { address: '127.0.0.1', agent }
    const [former, next] = [newSession(1, false), newSession(1, false)]
    await sessions.start({ ...owner, epoch: 1 }, former, 'password', visitor)
    await sessions.renew({ ...owner, epoch: 1 }, { former, next, visitor }, signal)
  },
  takeback_links: async ({ links, store }, owner, word) => {
    await links.make(store, 'reset', { ...owner, bound: '' })
    const { steps, params } = links.reserving('email', {
      ...owner,
      bound: '',
      address: `${word}@example.com`,
    })
    await store.write(steps, params)
  },
  takeback_verified: ({ verified }, owner, word) => verified.mark({ ...owner, key: `${word}@example.com` }),
  takeback_tried_passwords: ({ tried, store }, owner, word) => {
    const { steps, params } = tried.keeping({ ...owner, key: `${word}@example.com` }, 'hash')
    return store.write(steps, params)
  },
  takeback_temporary_passwords: ({ temporary }, { entity, id }) => temporary.mark(entity, id, 'hash'),
  takeback_second_factors: ({ factors }, owner) => factors.begin(owner),
  // Only with a second factor.
  takeback_recovery_codes: ({ factors }, owner) => factors.renewCodes(owner),
  takeback_passkeys: ({ passkeys }, owner, name) =>
    passkeys.add(
      owner,
      crypto.randomUUID(),
      { name, credential: `credential ${owner.id}`, publicKey: 'key', counter: 0 },
      noSession,
    ),
  takeback_identities: ({ linked, store }, owner, word) => {
    const { steps, params } = linked.linking({ ...identity, subject: `${word} ${owner.id}` }, owner)
    return store.write(steps, params)
  },
}
