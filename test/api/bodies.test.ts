import { expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { budget } from '../../src/budget.ts'
import { bookings } from '../declarations.ts'
import { expectInvalid, onEveryStore, onStore } from '../harness.ts'
import { exchange, head } from '../raw.ts'

onStore('sqlite', 'a body larger than it may be', bookings, (server) => {
  const json = { 'Content-Type': 'application/json' }
  const N = 64 * 1024 * 1024

  /** All ways to give a length. The second of two must not override the first. */
  const lengths: Record<string, string> = {
    'one length': `Content-Length: ${N}`,
    'two equal lengths': `Content-Length: ${N}\r\nContent-Length: ${N}`,
    'three, with zeros': `Content-Length: 0${N}\r\nContent-Length: ${N}\r\ncontent-length: 00${N}`,
    chunks: 'Transfer-Encoding: chunked',
    'a length with zeros': `Content-Length: ${'0'.repeat(30)}${N}`,
  }
  for (const [name, length] of Object.entries(lengths))
    test(`is refused before it is held in memory: ${name}`, async () => {
      const head = `POST /api/rooms/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nContent-Type: application/json\r\n${length}\r\n\r\n`
      const block = 'x'.repeat(64 * 1024)
      const sent = name === 'chunks' ? `10000\r\n${block}\r\n` : block
      const before = process.memoryUsage.rss()
      const { answers, closed } = await exchange(
        server.url,
        [head, ...Array.from({ length: 2 * (budget.bodyBytes / block.length) }, () => sent)],
        { patience: 20_000 },
      )
      // Bun itself refuses contradicting lengths, with a 400.
      expect([413, 400]).toContain(answers[0]?.status ?? 0)
      if (answers[0]?.status === 413) expect(answers[0]?.body).toContain('too_large')
      else expect(closed || answers.length === 1).toBe(true)
      expect(process.memoryUsage.rss() - before).toBeLessThan(48 * 1024 * 1024)
    })

  test('two equal lengths are one', async () => {
    const body = JSON.stringify({ title: 'two lengths', beds: 1 })
    const twice = `${body.length}\r\nContent-Length: ${body.length}`
    const { answers } = await exchange(server.url, [
      head('POST', '/api/rooms/', {
        ...json,
        Authorization: `Bearer ${server.adminToken}`,
        'Content-Length': twice,
      }),
      body,
    ])
    expect(answers[0]?.status).toBe(201)
  })
})

onEveryStore('bodies', bookings, (server) => {
  test('that are compressed are 415: a limit on bytes would not hold for them', async () => {
    for (const coding of [
      'gzip',
      'GZIP',
      'x-gzip',
      'deflate',
      'br',
      'zstd',
      'gzip, br',
      'snappy',
      'gzip;q=1',
    ]) {
      for (const raw of ['{}', new Uint8Array(gzipSync('{"title":"packed","beds":1}'))]) {
        const { status, body, headers } = await server.call('POST', '/api/rooms/', {
          raw,
          headers: { 'Content-Encoding': coding },
        })
        const got = [status, body.code, headers.get('accept-encoding')]
        expect([coding, ...got]).toEqual([coding, 415, 'unsupported_encoding', 'identity'])
      }
    }
    const plain = { raw: '{"title":"plain","beds":1}', headers: { 'Content-Encoding': 'identity' } }
    expect((await server.call('POST', '/api/rooms/', plain)).status).toBe(201)
  })

  test('that are not JSON are answered with the place of the fault', async () => {
    for (const [raw, sentence] of [
      ['{"title": "a",\n "beds": 1,}', 'must have a key in double quotes at line 2, column 12'],
      ['{"title": "é𝄞" "beds": 1}', 'must have a comma or "}" at line 1, column 16'],
      ['{"title": "a"', 'ends too early at line 1, column 14'],
      ['', 'ends too early at line 1, column 1'],
      ["{'title': 1}", 'must have a key in double quotes at line 1, column 2'],
      ['{"beds": 01}', 'must have a comma or "}" at line 1, column 11'],
      ['{"beds": NaN}', 'must have a value at line 1, column 10'],
      ['{} {}', 'has more after its end at line 1, column 4'],
    ] as const) {
      const { status, body } = await server.call('POST', '/api/rooms/', { raw })
      expect([raw, status, body]).toEqual([
        raw,
        400,
        {
          message: 'The body is not valid JSON in UTF-8.',
          errors: { '': [sentence] },
          code: 'malformed_json',
        },
      ])
    }
  })

  test('with a key that is there twice are refused, and write nothing', async () => {
    const before = await server.rows('rooms')
    for (const [path, raw, key] of [
      ['/api/rooms/', '{"title":"a","beds":1,"title":"b"}', 'title'],
      ['/api/rooms/', '{"title":"a","beds":1,"t\\u0069tle":"a"}', 'title'],
      ['/api/rooms/', '[{"title":"a","beds":1},{"title":"b","beds":1,"beds":1}]', '1.beds'],
      ['/api/auth/login', '{"email":"a@example.com","password":"x","password":"y"}', 'password'],
      [
        '/api/batch/',
        '[{"method":"POST","path":"/api/rooms/","body":{"title":"a","beds":1,"beds":2}}]',
        '0.body.beds',
      ],
    ] as const)
      expectInvalid(await server.call('POST', path, { raw }), { [key]: ['is given more than once'] })
    expect(await server.rows('rooms')).toBe(before)
  })
})
