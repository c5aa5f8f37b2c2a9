import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverEndpoint } from '../../src/api/endpoint.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import { type Running, startApp } from '../../src/app.ts'
import { addUser } from '../../src/cli/user.ts'
import { readConfig } from '../../src/config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { logOf } from '../../src/observe/log.ts'
import { Observer } from '../../src/observe/observer.ts'
import { routesOf } from '../../src/serve/http/routes.ts'
import { app, entity, everyone, text } from '../../src/takeback.ts'
import { ADMIN, eventually, onEveryStore } from '../harness.ts'

const papers = app({
  entities: {
    users: entity({ login: { userType: 'user' }, fields: {} }),
    papers: entity({
      fields: { name: text() },
      access: { create: everyone, read: everyone, update: everyone, delete: everyone, history: everyone },
    }),
  },
  admins: 'users',
})

onEveryStore('every endpoint', papers, (server) => {
  test('refuses a parameter that it does not know, and takes those that it says it does', async () => {
    const made = await server.call('POST', '/api/papers/', { body: { name: 'One' } })
    const operation = made.headers.get('takeback-operation') ?? ''
    const bodies: Record<string, unknown> = {
      'POST /api/auth/login': ADMIN,
      'POST /api/login': ADMIN,
      'POST /api/papers': { name: 'Two' },
      'PUT /api/papers/:id': { name: 'Three' },
    }
    let seen = 0
    for (const { path, methods } of routesOf(server.context, endpoints))
      for (const [method, handler] of Object.entries(methods)) {
        if (path.startsWith('/api/users')) continue
        seen++
        // Providers add their own parameters.
        if (path.endsWith('/callback')) continue
        const place = path.replace(':id', path.startsWith('/api/operations') ? operation : '1')
        const headers = { Accept: handler.produces.join(', ') }
        const body = { headers, ...(handler.body && { body: bodies[`${method} ${path}`] ?? {} }) }
        const answer = await server.call(method, `${place}?nonsense=1`, body)
        expect([method, place, answer.status]).toEqual([method, place, 422])
        expect(Object.keys(answer.body.errors)).toContain('nonsense')
        for (const name of handler.takes) {
          const { body: told } = await server.call(method, `${place}?${name}=%00&nonsense=1`, body)
          expect([method, place, name, String(told.errors?.[name])]).not.toEqual([
            method,
            place,
            name,
            expect.stringContaining('is not a parameter here'),
          ])
          const alone = await server.call(method, `${place}?${name}=%00`, body)
          expect([method, place, name, alone.status < 500]).toEqual([method, place, name, true])
        }
      }
    expect(seen).toBe(endpoints.server.length + endpoints.entity.length)
  })
})

test('no Entity type can take the path of an endpoint of the server', () => {
  const first = endpoints.server.map(({ path }) => /^\/api\/(\w+)/.exec(path)?.[1] ?? '')
  for (const name of new Set(first))
    expect(() => resolve(app({ entities: { [name]: entity({ fields: { name: text() } }) } }))).toThrow(
      `entities.${name}: is a name that Takeback itself uses`,
    )
})

const TAG = 'Trials'
const described = (name: string) => ({
  summary: name,
  description: name,
  answers: [{ status: 200, description: name, headers: [], schema: {} }],
  codes: [],
})
const common = { method: 'GET', tag: TAG, parameters: [], access: 'everyone' } as const
const encode = (words: string) => new TextEncoder().encode(words)

/** The streams that their readers cancelled. */
const cancelled: string[] = []

const events = serverEndpoint({
  ...common,
  name: 'trialEvents',
  path: '/api/trials/events/',
  produces: ['application/json', 'text/event-stream'],
  describe: () => described('events'),
  run: (_, { type, stopping }) => {
    if (type === 'application/json') return { status: 200, body: '{"events":[]}' }
    const read = new AbortController()
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encode('data: one\n\n'))
        const end = () => {
          controller.enqueue(encode('data: last\n\n'))
          controller.close()
        }
        stopping.addEventListener('abort', end, { signal: read.signal })
      },
      cancel() {
        read.abort()
        cancelled.push('events')
      },
    })
    return { status: 200, type, body }
  },
})

const bytes = serverEndpoint({
  ...common,
  name: 'trialBytes',
  path: '/api/trials/bytes/',
  method: 'POST',
  body: 'bytes',
  maxBytes: 3_000_000,
  access: 'signed-in',
  produces: ['application/octet-stream'],
  describe: () => described('bytes'),
  async run(_, call) {
    let sum = 0
    for await (const chunk of call.bytes) for (const byte of chunk) sum = (sum + byte) % 256
    return { status: 200, type: call.type, body: new Uint8Array([sum]) }
  },
})

const broken = serverEndpoint({
  ...common,
  name: 'trialBroken',
  path: '/api/trials/broken/',
  produces: ['text/plain'],
  describe: () => described('broken'),
  run: (_, { type }) => {
    const chunks = [encode('first'), undefined]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = chunks.shift()
        if (chunk === undefined) throw new Error('the disk went away')
        controller.enqueue(chunk)
      },
    })
    return { status: 200, type, body }
  },
})

const html = serverEndpoint({
  ...common,
  name: 'trialPage',
  path: '/api/trials/page/',
  access: 'admins',
  produces: ['text/html; charset=utf-8'],
  describe: () => described('page'),
  run: (_, { type }) => ({ status: 200, type, body: '<!doctype html><p>Trial</p>' }),
})

describe('an endpoint that answers with something else than JSON', () => {
  const folder = mkdtempSync(join(tmpdir(), 'takeback-endpoints-'))
  const logged: string[] = []
  let running: Running
  beforeAll(async () => {
    const config = readConfig({ database: `sqlite:${folder}/test.db`, port: '0' }, {})
    const observer = new Observer()
    logOf(observer, 'json', (text, done) => {
      logged.push(...text.trim().split('\n'))
      done?.()
    })
    running = await startApp(config, resolve(papers), observer, {
      parts: [{ name: 'trials', endpoints: { server: [events, bytes, broken, html] } }],
    })
  })
  afterAll(async () => {
    await running.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const send = (path: string, accept: string, more: RequestInit = {}) =>
    fetch(`${running.url}/api/trials/${path}/`, { ...more, headers: { Accept: accept, ...more.headers } })
  const lines = (path: string) => logged.filter((line) => line.includes(`/api/trials/${path}/`))

  test('is chosen by Accept, and has the headers and the line in the log that all answers have', async () => {
    expect((await send('events', 'image/png')).status).toBe(406)
    const json = await send('events', 'application/json, text/event-stream')
    expect(await json.json()).toEqual({ events: [] })
    await eventually(() => lines('events').length === 2)
    const controller = new AbortController()
    const stream = await send('events', 'text/event-stream', { signal: controller.signal })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('x-content-type-options')).toBe('nosniff')
    expect(stream.headers.get('cache-control')).toBe('no-store')
    expect(stream.headers.get('request-id')).toBeString()
    const reader = stream.body?.getReader()
    const first = await reader?.read()
    expect(new TextDecoder().decode(first?.value)).toBe('data: one\n\n')
    expect(lines('events')).toHaveLength(2)
    controller.abort()
    await eventually(() => lines('events').length === 3 && cancelled.includes('events'))
  })

  test('needs a token where it says so, and takes bytes up to its limit', async () => {
    const all = new Uint8Array(2_500_000).fill(1)
    expect((await send('bytes', '*/*', { method: 'POST', body: all })).status).toBe(401)
    expect((await send('page', 'text/html')).status).toBe(401)
    await addUser(running, 'users', ADMIN)
    const login = await fetch(`${running.url}/api/auth/login`, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify(ADMIN),
    })
    const { token } = (await login.json()) as { token: string }
    const headers = { Authorization: `Bearer ${token}` }
    const page = await send('page', 'text/html', { headers })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const summed = await send('bytes', '*/*', { method: 'POST', body: all, headers })
    expect([...new Uint8Array(await summed.arrayBuffer())]).toEqual([2_500_000 % 256])
    const long = new Uint8Array(3_000_001)
    expect((await send('bytes', '*/*', { method: 'POST', body: long, headers })).status).toBe(413)
    // Without a length that could be checked.
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 4; at++) controller.enqueue(new Uint8Array(1_000_000))
        controller.close()
      },
    })
    expect((await send('bytes', '*/*', { method: 'POST', body: chunks, headers })).status).toBe(413)
  })

  test('that breaks off is told in the log, and hurts nobody else', async () => {
    await expect(send('broken', 'text/plain').then((one) => one.text())).rejects.toThrow()
    await eventually(() => logged.some((line) => line.includes('the disk went away')))
    expect((await send('events', 'application/json')).status).toBe(200)
  })

  test('is in the document like any other', async () => {
    const document = JSON.parse(await running.context.document())
    expect(document.tags.map(({ name }: { name: string }) => name)).toContain(TAG)
    expect(Object.keys(document.paths['/api/trials/events/'].get.responses['200'].content)).toEqual([
      'application/json',
      'text/event-stream',
    ])
    expect(document.paths['/api/trials/bytes/'].post.security).not.toContainEqual({})
  })

  test('is ended politely when the server stops', async () => {
    const stream = await send('events', 'text/event-stream')
    const whole = stream.text()
    const closed = running.close()
    expect(await whole).toBe('data: one\n\ndata: last\n\n')
    await closed
  })
})
