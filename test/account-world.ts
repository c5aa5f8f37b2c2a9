import { stateDigest } from '../src/account/links.ts'
import { Authenticator } from './authenticator.ts'
import { ADMIN, type TestServer } from './harness.ts'
import { codesOf } from './totp-codes.ts'

const { password } = ADMIN
const identity = { provider: 'test', issuer: 'https://issuer.example.com', subject: 'ada' }
/** The address at which browsers reach the server, for passkeys: the same after every restart. */
export const ORIGIN = 'https://app.example.com'
export const FLAGS = { url: ORIGIN, 'trusted-proxies': '127.0.0.1' }

/** The parts of an account. Tests ask which of them still work. */
export const ACCOUNT_PARTS = [
  'password',
  'session',
  'key',
  'code',
  'recovery code',
  'passkey',
  'link',
  'invitation',
  'identity',
  'proved address',
  'preferences',
] as const
export type AccountPart = (typeof ACCOUNT_PARTS)[number]

type AccountParts = ReadonlyMap<AccountPart, (server: TestServer, type: string) => Promise<boolean>>

/** An account with one of each part. */
export class AccountWorld {
  readonly id: number
  readonly #parts: AccountParts

  private constructor(id: number, parts: AccountParts) {
    this.id = id
    this.#parts = parts
  }

  /** Returns the parts that work, if the type has this name. */
  async working(server: TestServer, type: string): Promise<AccountPart[]> {
    const found: AccountPart[] = []
    for (const [part, works] of this.#parts) if (await works(server, type)) found.push(part)
    return found
  }

  /** Creates the account. Its type needs a second factor and `verify`. */
  static async fill(server: TestServer, type: string): Promise<AccountWorld> {
    const email = `ada.${type}@example.com`
    const { id, token } = await vouched(server, type, email)
    const as = { token }
    const { context } = server
    const owner = { entity: type, id }
    await server.expect(200, 'PUT', '/api/auth/preferences/', { colour: 'blue' }, as)
    const made = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'a key' }, as)
    const device = new Authenticator(ORIGIN)
    const options = await server.expect(200, 'POST', '/api/auth/passkeys/options', { password }, as)
    const credential = device.create(options)
    await server.expect(201, 'POST', '/api/auth/passkeys/', { name: 'phone', credential }, as)
    const totp = await server.expect(200, 'POST', '/api/auth/totp/', { password }, as)
    const codes = codesOf(totp.secret)
    const confirmed = await server.expect(200, 'POST', '/api/auth/totp/confirm', { code: codes(0) }, as)
    const recovery = [...confirmed.recovery_codes] as string[]
    const link = await linkOf(server, 'reset', type, id)
    const { steps, params } = context.linked.linking(identity, owner)
    await context.store.write(steps, params)
    const invitation = await linkOf(server, 'invite', type, id)
    const byPasskey = async (one: TestServer) => {
      const asked = await one.expect(200, 'POST', '/api/auth/passkeys/login/options', {}, { token: null })
      const body = { credential: device.get(asked) }
      const received = await one.call('POST', '/api/auth/passkeys/login', {
        body,
        token: null,
        headers: from(),
      })
      return received.status === 200 && received.body.user.id === id
        ? (received.body.token as string)
        : undefined
    }
    const isIn = async (one: TestServer, sent: string, path = '/api/auth/me') => {
      const received = await one.call('GET', path, { token: sent })
      return received.status === 200
    }
    const parts: [AccountPart, (one: TestServer, now: string) => Promise<boolean>][] = [
      ['password', async (one) => (await logIn(one, email)).body.code === 'second_factor_required'],
      ['session', (one) => isIn(one, token)],
      ['key', (one) => isIn(one, made.key)],
      ['code', (one) => logsInWith(one, email, codes(0))],
      ['recovery code', (one) => logsInWith(one, email, recovery.pop() ?? '')],
      ['passkey', async (one) => (await byPasskey(one)) !== undefined],
      ['link', (one) => isGood(one, link)],
      ['invitation', (one) => isGood(one, invitation)],
      ['identity', async (one, now) => (await one.context.linked.find(identity, now)) === id],
      ['proved address', (one, now) => one.context.verified.wasProved({ entity: now, id, key: email })],
      [
        'preferences',
        async (one, now) => (await one.context.preferences.read({ entity: now, id })).includes('blue'),
      ],
    ]
    return new AccountWorld(id, new Map(parts))
  }
}

let network = 0
/** Returns headers with a new address, so that failures here slow down nobody else. */
function from(): Record<string, string> {
  network++
  return { 'X-Forwarded-For': `198.51.${Math.floor(network / 250)}.${(network % 250) + 1}` }
}

function logIn(server: TestServer, email: string, more: object = {}) {
  return server.call('POST', '/api/auth/login', {
    body: { email, password, ...more },
    token: null,
    headers: from(),
  })
}

/** Lets codes be used again and forgets guesses, so that the test does not wait half a minute. */
async function logsInWith(server: TestServer, email: string, code: string): Promise<boolean> {
  await server.query('UPDATE takeback_second_factors SET last_step = 0 RETURNING 1 AS n')
  await server.query('DELETE FROM takeback_attempts RETURNING 1 AS n')
  return (await logIn(server, email, { code })).status === 200
}

/** A user with a verified address. */
async function vouched(server: TestServer, type: string, email: string) {
  const id = await server.member(type, { email })
  await server.context.verified.mark({ entity: type, id, key: email })
  const { token } = (await logIn(server, email)).body
  return { id, token: token as string }
}

async function linkOf(
  server: TestServer,
  purpose: 'reset' | 'invite',
  type: string,
  id: number,
): Promise<string> {
  const [row] = await server.query(`SELECT email_key, password FROM "${type}" WHERE id = $1`, id)
  const bound = stateDigest(String(row?.email_key), String(row?.password))
  const { links, store } = server.context
  const address = String(row?.email_key)
  const token = await links.make(store, purpose, { entity: type, id, bound, address })
  return token ?? ''
}

/** Tries the link with a password that is too short, so that it is not used up. */
async function isGood(server: TestServer, token: string): Promise<boolean> {
  const body = { token, password: 'short' }
  const { status, body: told } = await server.call('POST', '/api/auth/password/reset', {
    body,
    token: null,
    headers: from(),
  })
  if (status !== 422) throw new Error(`${status} ${told?.code}`)
  return told.code === 'invalid_data'
}
