import { expect, test } from 'bun:test'
import { connect } from '../../client/client.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import {
  ADMIN,
  eventually,
  expectInvalid,
  onEveryStore,
  onEveryStoreByHand,
  type TestResponse,
  type TestServer,
} from '../harness.ts'
import { FRESH, onceWorld, type Request } from '../once-world.ts'
import { BACK, providerWorld } from '../provider-world.ts'

const { password } = ADMIN
const { declaration, erp, outbox, requestsOn } = onceWorld()

const all = [...endpoints.server, ...endpoints.entity]
const writes = all.filter(({ method, reads }) => method !== 'GET' && !reads)
const nameOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`
const lists = ({ parameters }: (typeof all)[number]) => parameters.includes('Idempotency-Key')

const OF_PROVIDERS = ['POST /api/auth/identities/', 'DELETE /api/auth/identities/{id}/']

/** Sends a request twice with one key: the second answer must be the first. */
async function twice(server: TestServer, name: string, request: Request): Promise<TestResponse> {
  const { path, effect, again = 0, ...sent } = request
  const [method = ''] = name.split(' ')
  const headers = { 'Idempotency-Key': name.replaceAll(' ', '-') }
  const send = () => server.call(method, path, { ...sent, headers })
  const replay = 'idempotent-replay'
  const first = await send()
  expect([name, first.status < 300, first.headers.get(replay)]).toEqual([name, true, null])
  const before = await effect?.()
  const second = await send()
  const repeated = again === 0 ? [first.status, first.text, 'true'] : [again, second.text, null]
  expect([name, second.status, second.text, second.headers.get(replay)]).toEqual([name, ...repeated])
  expect([name, await effect?.()]).toEqual([name, before])
  return first
}

test('every write says what a key means: it takes it itself, its answer is kept, a token, or another secret', () => {
  const silent = writes.filter((one) => !lists(one) && one.answer === undefined)
  expect(silent.map(nameOf)).toEqual([])
  const both = writes.filter((one) => lists(one) && one.answer !== undefined && one.answer !== 'kept')
  expect(both.map(nameOf)).toEqual([])
  const reads = all.filter((one) => !writes.includes(one) && (lists(one) || one.answer !== undefined))
  expect(reads.map(nameOf)).toEqual([])
})

onEveryStore(
  'a write that is sent twice with one key',
  declaration,
  (server) => {
    const requests = requestsOn(server)

    test('is one of these', () => {
      const taken = writes.filter(lists).map(nameOf)
      expect([...Object.keys(requests), ...OF_PROVIDERS].sort()).toEqual(taken.sort())
    })

    for (const name of Object.keys(requests))
      test(`is done once: ${name}`, async () => {
        await twice(server, name, (await requests[name]?.()) as Request)
      })

    test('is refused if its answer is a secret, before it does anything', async () => {
      for (const one of writes.filter(({ answer }) => answer === 'secret')) {
        const path = one.path.replace('{name}', 'test')
        const token = one.path === '/api/auth/first-admin/' ? null : server.adminToken
        const body = one.body === undefined ? {} : { body: {} }
        const answer = await server.call(one.method, path, {
          ...body,
          token,
          headers: { 'Idempotency-Key': 'k' },
        })
        expect([path, answer.status]).toEqual([path, 422])
        expectInvalid(answer, {
          'Idempotency-Key': ['is not possible here: the answer is a secret, which is not kept'],
        })
      }
      const kept = JSON.stringify(await server.query('SELECT * FROM takeback_answers'))
      for (const secret of [password, FRESH, 'secret', 'challenge']) expect(kept).not.toContain(secret)
    })

    test('is a login of its own each time, whatever its key', async () => {
      const headers = { 'Idempotency-Key': 'login' }
      const login = () => server.expect(200, 'POST', '/api/auth/login', ADMIN, { token: null, headers })
      const [one, other] = [await login(), await login()]
      expect(one.token).not.toBe(other.token)
      const again = () => server.call('POST', '/api/auth/refresh', { token: one.token, headers })
      expect([(await again()).status, (await again()).status]).toEqual([200, 401])
      expect(JSON.stringify(await server.query('SELECT * FROM takeback_answers'))).not.toContain(other.token)
    })

    test('has a key of 1 to 255 visible ASCII characters', async () => {
      for (const one of writes) {
        const path = one.path.replace('{entity}', 'notes').replace(/\{(id|name)\}/, '1')
        for (const key of ['', 'a b', 'x'.repeat(256)]) {
          const body = one.body === undefined ? {} : { body: {} }
          const answer = await server.call(one.method, path, { ...body, headers: { 'Idempotency-Key': key } })
          expect([nameOf(one), key.length, answer.status]).toEqual([nameOf(one), key.length, 422])
          expectInvalid(answer, { 'Idempotency-Key': ['must have 1 to 255 visible ASCII characters'] })
        }
      }
    })

    test('is done once by the client, which sends it again after a bad answer', async () => {
      const request = await requests['POST /api/system/webhooks/{name}/resend/']?.()
      const body = request?.body as { operation: string }
      let sent = 0
      const api = connect(server.url, {
        token: server.adminToken,
        async fetch(url, init) {
          const answer = await fetch(url, init)
          return sent++ > 0 ? answer : new Response('<h1>Bad Gateway</h1>', { status: 502 })
        },
      })
      const sending = { params: { name: 'erp' }, body }
      expect(await api.route('POST /api/system/webhooks/:name/resend/', sending)).toEqual({ resent: 1 })
      expect([sent, await request?.effect?.()]).toEqual([2, 2])
    })

    test('has its header in the document where it is taken, and nowhere else', async () => {
      const { paths } = JSON.parse(await server.context.document())
      for (const one of all) {
        const path = one.path.replace('{entity}', 'notes')
        const shown = paths[path]?.[one.method.toLowerCase()]
        expect([nameOf(one), JSON.stringify(shown).includes('Idempotency-Key')]).toEqual([
          nameOf(one),
          lists(one),
        ])
        expect([nameOf(one), JSON.stringify(shown.responses).includes('Idempotent-Replay')]).toEqual([
          nameOf(one),
          lists(one),
        ])
      }
    })

    test('is run once also if both come at once, and freely again if it has failed', async () => {
      const request = await requests['POST /api/system/webhooks/{name}/resend/']?.()
      const { path = '', body = {} } = request ?? {}
      const operation = (body as { operation: string }).operation
      const headers = { 'Idempotency-Key': 'race' }
      const wrong = await server.call('POST', path, { body: {}, headers })
      expect(wrong.status).toBe(422)
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => server.call('POST', path, { body, headers })),
      )
      // A request that comes while the first one runs is told to try again.
      for (const { status, body: told } of answers) expect(status === 200 || told.code === 'busy').toBe(true)
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(erp.told.filter(({ id }) => id === operation)).toHaveLength(2)
    })
  },
  { outbox, 'rate-limit': 'writes=off,reads=off' },
)

onEveryStoreByHand('a link to a provider that is sent twice with one key', (store) => {
  const { server, isUser, comeBack } = providerWorld(store)

  test('is made once, and removed once', async () => {
    const { token } = await server.user('users', { email: 'eve@example.com', name: 'Eve' })
    isUser('eve', { email: 'eve@example.com', name: 'Eve' })
    const asked = { return_to: BACK, password }
    const { url } = await server.expect(201, 'POST', '/api/auth/providers/test/link', asked, { token })
    const { code } = await comeBack(url)
    const [add = '', remove = ''] = OF_PROVIDERS
    const made = await twice(server, add, { path: '/api/auth/identities/', body: { code }, token })
    await twice(server, remove, { path: `/api/auth/identities/${made.body.id}/`, token })
  })
})
