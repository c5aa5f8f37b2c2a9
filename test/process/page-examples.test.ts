import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventually } from '../harness.ts'
import { example, newFolder, serve } from './process.ts'

const tools = ['bash', 'curl'].every((tool) => Bun.which(tool) !== null)
if (!tools) console.warn('skipped: the examples of the reference page need bash and curl')

/** Returns the examples on the page, by the name of the operation. */
function examplesIn(page: string): Map<string, string> {
  const found = [
    ...page.matchAll(
      /<li id="call-(\w+)">[\s\S]*?<figcaption>Shell<\/figcaption><pre[^>]*>([\s\S]*?)<\/pre>/g,
    ),
  ]
  return new Map(found.map(([, id = '', code = '']) => [id, textOf(code)]))
}

function textOf(markup: string): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return markup.replace(/<[^>]+>/g, '').replace(/&(#?\w+);/g, (_, name: string) => entities[name] ?? '')
}

/** Orders the calls: first targets of references, then reads, then calls that end something. */
function rank(id: string): number {
  const made = ['createCountries', 'createUsers', 'createAdmins', 'createRooms', 'createBookings']
  if (made.includes(id)) return made.indexOf(id)
  if (/^(list|read|summarise|history|get|patch|replace|batch)/.test(id)) return 10
  return /^(remove|delete)/.test(id) ? 30 : 20
}

/**
 * Examples that cannot succeed as they are: nobody has that password, link, code or passkey, no operation, session or
 * key has that id, and the example has neither providers nor second factors.
 */
const REFUSED: Record<string, number> = {
  changePassword: 422,
  resetPassword: 422,
  changeEmail: 422,
  confirmEmail: 422,
  revertEmail: 422,
  verifyEmail: 422,
  endSession: 404,
  setUpSecondFactor: 404,
  confirmSecondFactor: 404,
  makeRecoveryCodes: 404,
  removeSecondFactor: 404,
  makePasskeyOptions: 422,
  addPasskey: 422,
  removePasskey: 404,
  loginByPasskey: 422,
  startProviderLogin: 422,
  finishProviderLogin: 404,
  exchangeCode: 422,
  linkProvider: 404,
  linkIdentity: 422,
  unlinkIdentity: 404,
  actAs: 422,
  inviteAgain: 422,
  getKey: 404,
  readOperation: 404,
  undoOperation: 404,
  // The example has neither tasks nor jobs nor webhooks.
  retryTask: 404,
  runJob: 404,
  resendWebhook: 404,
}

/** All examples of a type have the same values, and some must be unique. */
const isTaken = (answer: string) => /"errors":\{("[^"]+":\["is taken[^\]]*\],?)+\}/.test(answer)

describe.skipIf(!tools)('the reference page', () => {
  let server: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => {
    server = await serve([
      ...['--config', example, '--database', 'sqlite::memory:', '--log', 'json', '--outbox', newFolder()],
    ])
  })
  afterAll(async () => {
    expect(await server.end()).toBe(0)
  })

  test('has an example for each call, which works when it is pasted', async () => {
    await eventually(() => server.said().includes('# taken back'))
    const [, password = ''] = /password {2}(\S+)/.exec(server.said()) ?? []
    const post = async (path: string, body: object, token = '') => {
      const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }
      const answer = await fetch(`${server.url}/api/${path}`, {
        method: 'POST',
        headers: { ...headers, ...(token !== '' && { Authorization: `Bearer ${token}` }) },
        body: JSON.stringify(body),
      })
      return (await answer.json()) as { token: string }
    }
    // Another admin than the first, whom the examples change.
    const keeper = { email: 'keeper@example.com', password: 'correct horse battery' }
    await post('admins/', keeper, (await post('auth/login', { email: 'admin@example.com', password })).token)
    const examples = examplesIn(await (await fetch(`${server.url}/docs`)).text())
    const document: any = await (
      await fetch(`${server.url}/api/openapi.json`, { headers: { Accept: 'application/json' } })
    ).json()
    const operations = Object.values<any>(document.paths).flatMap((one) => Object.values<any>(one))
    expect([...examples.keys()].sort()).toEqual(operations.map(({ operationId }) => operationId).sort())
    const wrong: unknown[] = []
    let { token } = await post('auth/login', keeper)
    for (const [id, command] of [...examples].sort(([a], [b]) => rank(a) - rank(b))) {
      // Some calls end the token that they are sent with.
      const headers = { Accept: 'application/json', Authorization: `Bearer ${token}` }
      if (!(await fetch(`${server.url}/api/auth/me`, { headers })).ok)
        token = (await post('auth/login', keeper)).token
      const env = { ...process.env, BASE: server.url, TOKEN: token }
      const script = `curl() { command curl -s -w '\\n%{http_code}' "$@"; }\n${command}`
      const { stdout } = Bun.spawnSync(['bash', '-c', script], { env })
      const lines = stdout.toString().trim().split('\n')
      const status = Number(lines.at(-1))
      const { responses } = operations.find(({ operationId }) => operationId === id)
      const expected =
        REFUSED[id] === undefined
          ? status < 300 || status === 409 || isTaken(lines[0] ?? '')
          : status === REFUSED[id]
      if (!expected || !Object.hasOwn(responses, String(status))) wrong.push([id, command, ...lines])
    }
    expect(wrong).toEqual([])
  })

  test('lets its own script run, and nothing else', async () => {
    const answer = await fetch(`${server.url}/docs`)
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(await answer.text()) ?? []
    const digest = new Bun.CryptoHasher('sha256').update(script).digest('base64')
    expect(answer.headers.get('Content-Security-Policy')).toContain(`script-src 'sha256-${digest}';`)
    expect(() => new Function(script)).not.toThrow()
  })
})
