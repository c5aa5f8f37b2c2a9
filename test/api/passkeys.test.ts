import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { newChallenge } from '../../src/account/challenges.ts'
import { app, entity, everyone, signedIn, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore } from '../harness.ts'
import { openChromium } from '../process/chromium.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', second: 'optional' }, fields: {} }),
    staff: entity({ login: { userType: 'staff', second: 'required' }, fields: {} }),
    notes: entity({ fields: { text: text() }, access: { read: signedIn, create: everyone } }),
  },
})
const { password } = ADMIN
const FAILED = [422, 'passkey_failed']

/** A page with a virtual authenticator that needs no user. */
interface Tab {
  evaluate(expression: string): Promise<any>
  /** Sends a command to its authenticator, by the DevTools protocol. */
  tell(
    method: 'getCredentials' | 'addCredential' | 'setUserVerified',
    params?: object,
  ): Promise<{ credentials: object[] }>
}

let chromium: Browser
beforeAll(async () => {
  chromium = await openChromium()
})
afterAll(() => chromium.close())

onEveryStore('passkeys', declaration, (server) => {
  const post = (path: string, body: object, token: string | null = null) =>
    server.call('POST', `/api/auth/passkeys/${path}`, { body, token })
  const codeOf = ({ status, body }: { status: number; body: any }) => [status, body?.code]
  const options = async (token: string) => (await post('options', { password }, token)).body

  /** Opens a page of this server, or of another one, with these passkeys. */
  async function newTab(
    port = Number(new URL(server.url).port),
    credentials: readonly object[] = [],
  ): Promise<Tab> {
    const page = await chromium.newPage()
    await page.goto(`http://localhost:${port}/api/health`)
    const protocol = await page.context().newCDPSession(page)
    await protocol.send('WebAuthn.enable')
    const { authenticatorId } = await protocol.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    const tell: Tab['tell'] = (method, params) =>
      protocol.send(`WebAuthn.${method}`, { authenticatorId, ...params } as never) as never
    for (const credential of credentials) await tell('addCredential', { credential })
    return { evaluate: (expression) => page.evaluate(expression), tell }
  }
  const create = (tab: Tab, from: object) =>
    tab.evaluate(
      `navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(from)}) }).then((made) => made.toJSON())`,
    )
  const get = (tab: Tab, from: object) =>
    tab.evaluate(
      `navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(from)}) }).then((made) => made.toJSON())`,
    )
  const register = async (tab: Tab, token: string, name = 'My phone') =>
    post('', { name, credential: await create(tab, await options(token)) }, token)
  const sign = async (tab: Tab) => get(tab, (await post('login/options', {})).body)
  const login = (credential: unknown) => post('login', { credential: credential as object })

  test('are made in a browser, and log in without a name, once for each challenge', async () => {
    const { id, token } = await server.user('users', { email: 'ada@example.com' })
    expectInvalid(await post('options', { password: 'wrong' }, token), { password: ['is wrong'] })
    const tab = await newTab()
    const made = await create(tab, await options(token))
    const added = await post('', { name: 'My phone', credential: made }, token)
    expect([added.status, added.body, added.headers.get('location')]).toEqual([
      201,
      { id: expect.any(Number), name: 'My phone', created_at: expect.stringMatching(/Z$/), used_at: null },
      `/api/auth/passkeys/${added.body.id}/`,
    ])
    expect(codeOf(await post('', { name: 'Again', credential: made }, token))).toEqual(FAILED)
    const [{ excludeCredentials }] = [await options(token)]
    expect(excludeCredentials).toEqual([{ type: 'public-key', id: made.id }])

    const entered = await login(await sign(tab))
    expect([entered.status, entered.body.user.id]).toEqual([200, id])
    const [session] = (
      await server.expect(200, 'GET', '/api/auth/sessions/', undefined, { token: entered.body.token })
    ).data
    expect([session.how, session.current]).toEqual(['passkey', true])
    const [listed] = (await server.expect(200, 'GET', '/api/auth/passkeys/', undefined, { token })).data
    expect(listed).toEqual({ ...added.body, used_at: expect.stringMatching(/Z$/) })

    // The same answer, five times at once: only one succeeds.
    const signed = await sign(tab)
    const answers = await Promise.all(Array.from({ length: 5 }, () => login(signed)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    await eventually(() =>
      server.logged.join('').includes(`A passkey of users/${id} was added by users/${id}.`),
    )
    const tables = await Promise.all(
      ['journal', 'answers', 'tasks', 'attempts'].map((name) =>
        server.query(`SELECT * FROM takeback_${name}`),
      ),
    )
    const kept = JSON.stringify([server.logged, tables])
    const { challenge } = JSON.parse(Buffer.from(signed.response.clientDataJSON, 'base64url').toString())
    for (const one of [challenge, made.id, signed.response.signature]) expect(kept).not.toContain(one)
  })

  test('are refused with another challenge, account, origin, signature or counter', async () => {
    const { token } = await server.user('users', { email: 'bea@example.com' })
    const eve = await server.user('users', { email: 'eve@example.com' })
    const tab = await newTab()
    // Created for one account, and sent by another.
    const forBea = await create(tab, await options(token))
    expect(codeOf(await post('', { name: 'x', credential: forBea }, eve.token))).toEqual(FAILED)
    expect((await post('', { name: 'x', credential: forBea }, token)).status).toBe(201)
    const refused = async (credential: { id: string }) => {
      const answer = await login(credential)
      // A failure must not make the next one wait.
      await server.context.throttle.unlock(`passkey ${credential.id}`)
      expect(codeOf(answer)).toEqual(FAILED)
    }
    const from = async () => (await post('login/options', {})).body
    // An invalid challenge, and one for another purpose.
    for (const challenge of ['bm90IG91cnM', newChallenge(server.context.tokens, 'register users/1')])
      await refused(await get(tab, { ...(await from()), challenge }))
    const signed = await sign(tab)
    const other = Buffer.from(signed.response.signature, 'base64url')
    other[other.length - 1] = (other.at(-1) ?? 0) ^ 1
    await refused({ ...signed, response: { ...signed.response, signature: other.toString('base64url') } })
    // A page of another origin for which the browser has the same passkeys.
    const { credentials } = await tab.tell('getCredentials')
    const page = Bun.serve({ port: 0, fetch: () => new Response('elsewhere') })
    const elsewhere = await newTab(Number(page.port), credentials)
    await refused(await get(elsewhere, await from()))
    await page.stop(true)
    // The authenticator has not verified its user.
    const unverified = await newTab(undefined, credentials)
    await unverified.tell('setUserVerified', { isUserVerified: false })
    await refused(await get(unverified, { ...(await from()), userVerification: 'discouraged' }))
    // None of this has used up the challenge.
    expect((await login(signed)).status).toBe(200)
    // Many authenticators do not count: the used challenge alone must refuse it.
    await server.query('UPDATE takeback_passkeys SET counter = 0 RETURNING 1 AS n')
    await refused(signed)
    expect((await login(await sign(tab))).status).toBe(200)
    // A copy of the authenticator with a lower counter.
    const copy = await newTab(
      undefined,
      credentials.map((one) => ({ ...one, signCount: 0 })),
    )
    await refused(await sign(copy))
    await refused({ ...signed, id: 'bm9ib2R5' })
  })

  test('end when they are removed, by their owner or by an admin, and with their user', async () => {
    const { id, token } = await server.user('users', { email: 'cem@example.com' })
    const eve = await server.user('users', { email: 'eva@example.com' })
    const [first, second] = [await newTab(), await newTab()]
    const one = (await register(first, token, 'One')).body.id
    const two = (await register(second, token, 'Two')).body.id
    const remove = (which: number, as: string, query = '') =>
      server.call('DELETE', `/api/auth/passkeys/${which}/${query}`, { token: as })
    expect((await remove(one, eve.token)).status).toBe(404)
    expect((await remove(one, eve.token, `?user=users/${id}`)).status).toBe(403)
    expect((await remove(one, token)).status).toBe(204)
    expect((await remove(one, token)).status).toBe(404)
    expect(codeOf(await login(await sign(first)))).toEqual(FAILED)
    expect((await login(await sign(second))).status).toBe(200)
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    expect(codeOf(await login(await sign(second)))).toEqual(FAILED)
    await server.expect(200, 'DELETE', `/api/users/${id}/?restore=1`)
    expect((await login(await sign(second))).status).toBe(200)
    expect((await remove(two, server.adminToken, `?user=users/${id}`)).status).toBe(204)
    expect(codeOf(await login(await sign(second)))).toEqual(FAILED)
  })

  test('count as two factors, and a password alone then sets up no other', async () => {
    const { token } = await server.user('staff', { email: 'gil@example.com' })
    const byPassword = { body: { email: 'gil@example.com', password }, token: null }
    const thief = (await server.call('POST', '/api/auth/login', byPassword)).body.token
    const tab = await newTab()
    expect((await register(tab, token)).status).toBe(201)
    const asThief = { body: { password }, token: thief }
    expect((await server.call('POST', '/api/auth/totp/', asThief)).status).toBe(401)
    expect(codeOf(await server.call('GET', '/api/notes/', { token }))).toEqual([
      403,
      'second_factor_setup_required',
    ])
    const entered = await login(await sign(tab))
    expect((await server.call('GET', '/api/notes/', { token: entered.body.token })).status).toBe(200)
    expect(codeOf(await server.call('POST', '/api/auth/login', byPassword))).toEqual([
      422,
      'second_factor_required',
    ])
  })

  test('have options that are the same for everybody, and bind to the configured host', async () => {
    const [one, two] = [await post('login/options', {}), await post('login/options', {})]
    expect(one.body).toEqual({
      rpId: 'localhost',
      challenge: expect.stringMatching(/^[\w-]{51}$/),
      timeout: 300_000,
      userVerification: 'required',
      allowCredentials: [],
    })
    expect(two.body.challenge).not.toBe(one.body.challenge)
    const spoofed = await server.call('POST', '/api/auth/passkeys/login/options', {
      body: {},
      token: null,
      headers: { Host: 'evil.example', Origin: 'https://evil.example' },
    })
    expect(spoofed.body.rpId).toBe('localhost')
    expectInvalid(await post('login', { credential: 5, email: 1 }), {
      email: ['is not a field here'],
      credential: ['must be the JSON of a PublicKeyCredential'],
    })
    expectInvalid(await post('', {}, server.adminToken), {
      name: ['is required'],
      credential: ['is required'],
    })
  })
})
