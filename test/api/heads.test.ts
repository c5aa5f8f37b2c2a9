import { describe, expect, spyOn, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { Failure } from '../../src/errors.ts'
import { Observer } from '../../src/observe/observer.ts'
import { Service } from '../../src/serve/http/service.ts'
import { bookings } from '../declarations.ts'
import { eventually, expectInvalid, onEveryStore } from '../harness.ts'
import { exchange, head } from '../raw.ts'

onEveryStore('what stands before a body', bookings, (server) => {
  const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`
  const get = (path: string, ...more: string[]) =>
    lines(`GET ${path} HTTP/1.1`, 'Accept: application/json', ...more)

  describe('Host', () => {
    let count = 0
    const create = (host: string, key?: string) => {
      const body = JSON.stringify({ title: `hosted ${++count}`, beds: 1 })
      const headers = {
        Host: host,
        'Content-Type': 'application/json',
        'Content-Length': String(body.length),
        Authorization: `Bearer ${server.adminToken}`,
        ...(key !== undefined && { 'Idempotency-Key': key }),
      }
      return [head('POST', '/api/rooms/', headers) + body]
    }

    for (const host of [
      'localhost',
      'xn--a',
      'h:99999',
      'h:',
      '',
      '[::1]:3000',
      '127.0.0.1:1',
      'a_b',
      'EXAMPLE.com.',
      'xn--',
      '%20',
      '1.2.3.4.5',
      '0x7f.1',
      `${'a'.repeat(300)}.example`,
    ])
      test(`that is one is taken, with a key and without: ${host.slice(0, 20)}`, async () => {
        for (const key of [undefined, `key-${count}`]) {
          const { answers } = await exchange(server.url, create(host, key))
          expect([host, answers[0]?.status]).toEqual([host, 201])
        }
      })

    for (const host of [
      'a\r\nHost: b',
      'a\r\nHost: a',
      'a, b',
      'a/b',
      'u@a',
      'a?b',
      'a#b',
      'a b',
      '[',
      'a:b',
    ])
      test(`that is none, or two, is 400 and writes nothing: ${JSON.stringify(host)}`, async () => {
        const before = await server.rows('rooms')
        const { answers, closed } = await exchange(server.url, create(host), {
          answers: Number.POSITIVE_INFINITY,
        })
        expect([answers[0]?.status, answers[0]?.headers.connection ?? 'close', closed]).toEqual([
          400,
          'close',
          true,
        ])
        expect(await server.rows('rooms')).toBe(before)
      })

    test('is no part of the path in the log, nor missing from it', async () => {
      for (const [at, host] of ['Host: x', 'Host:', 'Host: a/b/c', 'Host: xn--a'].entries())
        await exchange(server.url, [get(`/api/health/${at}?limit=1`, host)])
      await exchange(server.url, [lines('GET /api/health/4?limit=1 HTTP/1.0', 'Accept: */*')])
      const logged = () => server.logged.join('')
      for (const at of [0, 1, 2, 3, 4])
        await eventually(() => logged().includes(`"path":"/api/health/${at}?limit=1"`))
    })
  })

  describe('methods', () => {
    test('CONNECT is 405 and ends the connection, so that nobody else is kept waiting on it', async () => {
      for (const target of ['a:80', 'localhost:3000', '/api/rooms/', '/api/nothing', 'a:443?token=x']) {
        const { answers, closed } = await exchange(
          server.url,
          [
            lines(`CONNECT ${target} HTTP/1.1`, 'Host: a:80', 'Accept: */*'),
            { answers: 1 },
            get('/api/health', 'Host: x'),
          ],
          { answers: Number.POSITIVE_INFINITY },
        )
        expect([target, answers.map(({ status }) => status), closed]).toEqual([target, [405], true])
        expect(answers[0]?.headers).toMatchObject({ connection: 'close' })
        expect(answers[0]?.headers.allow).toContain('GET')
      }
    })

    test('that Bun knows and we do not are 405 or 404, and leave the connection in order', async () => {
      for (const method of ['TRACE', 'PROPFIND', 'QUERY', 'LOCK', 'SEARCH', 'OPTIONS', 'M-SEARCH'])
        for (const [path, status] of [
          ['/api/rooms/', 405],
          ['/api/nothing/', 404],
        ] as const) {
          const { answers } = await exchange(
            server.url,
            [
              lines(`${method} ${path} HTTP/1.1`, 'Host: x', 'Accept: */*'),
              { answers: 1 },
              get('/api/health', 'Host: x'),
            ],
            { answers: 2 },
          )
          expect([method, ...answers.map((one) => one.status)]).toEqual([method, status, 200])
        }
    })
  })

  describe('If-Match', () => {
    const sentence = 'must be an ETag in double quotes, such as "3", several separated by commas, or *'

    test('is 400 where it is no list of tags, and changes nothing', async () => {
      const { id } = await server.expect(201, 'POST', '/api/rooms/', { title: 'tagged', beds: 1 })
      for (const tag of ['1', '1, "2"', '"1', '1"', "'1'", '"1" "2"', 'W/1', '"a"b', '**', '"*', ','])
        for (const [method, body] of [
          ['PATCH', { beds: 2 }],
          ['PUT', { title: 'tagged', beds: 2 }],
          ['DELETE', undefined],
        ] as const) {
          const sent = { headers: { 'If-Match': tag }, ...(body !== undefined && { body }) }
          const received = await server.call(method, `/api/rooms/${id}/`, sent)
          expect([tag, method, received.status, received.body]).toEqual([
            tag,
            method,
            400,
            {
              message: 'A header is malformed.',
              errors: { 'If-Match': [sentence] },
              code: 'malformed_header',
            },
          ])
        }
      const revert = { body: { version: 1 }, headers: { 'If-Match': '1' } }
      expect((await server.call('POST', `/api/rooms/${id}/revert/`, revert)).status).toBe(400)
      expect((await server.expect(200, 'GET', `/api/rooms/${id}/`)).version).toBe(1)
    })

    test('is a list of tags, however it is spaced', async () => {
      const { id } = await server.expect(201, 'POST', '/api/rooms/', { title: 'tagged twice', beds: 1 })
      let version = 1
      for (const make of [
        (tag: string) => tag,
        (tag: string) => `"99",${tag}`,
        (tag: string) => ` W/"9" ,\t${tag} , `,
        (tag: string) => `, ${tag},,"x,y"`,
        () => '*',
      ]) {
        const tag = make(`"${version++}"`)
        const sent = { body: { beds: version }, headers: { 'If-Match': tag } }
        expect([tag, (await server.call('PATCH', `/api/rooms/${id}/`, sent)).status]).toEqual([tag, 200])
      }
      for (const tag of ['"99"', 'W/"6"', '""', '"6", W/"6"'.slice(5)]) {
        const sent = { body: { beds: 1 }, headers: { 'If-Match': tag } }
        expect([tag, (await server.call('PATCH', `/api/rooms/${id}/`, sent)).status]).toEqual([tag, 412])
      }
    })

    test('of a part of a batch stands at its place', async () => {
      const part = { method: 'PATCH', path: '/api/rooms/1/', body: { beds: 2 }, if_match: '1' }
      expectInvalid(await server.call('POST', '/api/batch/', { body: [part] }), {
        '0.if_match': [sentence],
      })
    })
  })
})

test('an error while answering leaves no request under way', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'takeback-test-'))
  const config = readConfig({ port: '0', log: 'json', database: `sqlite:${join(folder, 'test.db')}` }, {})
  const observer = new Observer()
  const failed: string[] = []
  observer.subscribe((event) => {
    if (event.kind === 'request_failed') failed.push(String(event.error))
  })
  const serve = spyOn(Service.prototype, 'serve')
  const running = await startApp(config, resolve(bookings), observer)
  // A value that no header can hold.
  const check = () => Promise.reject(new Failure('not_found', { headers: { 'Retry-After': 'a\nb' } }))
  Object.assign(running.context.health, { check })
  for (let at = 0; at < 3; at++)
    expect((await fetch(`${running.url}/api/health`, { headers: { Accept: '*/*' } })).status).toBe(500)
  expect(failed).toHaveLength(3)
  expect((serve.mock.contexts.at(-1) as Service).underWay).toBe(0)
  await running.close()
  serve.mockRestore()
  rmSync(folder, { recursive: true, force: true })
})
