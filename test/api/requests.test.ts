import { expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { eventually, expectInvalid, onEveryStore } from '../harness.ts'

onEveryStore(
  'pages of other origins',
  bookings,
  (server) => {
    const ask = (origin: string) =>
      server.call('OPTIONS', '/api/rooms/', {
        token: null,
        headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
      })

    test('may call where they are allowed, and are not told so elsewhere', async () => {
      const asked = await ask('https://app.example.com')
      expect([
        asked.status,
        asked.headers.get('Access-Control-Allow-Origin'),
        asked.headers.get('Access-Control-Allow-Methods'),
      ]).toEqual([204, 'https://app.example.com', 'GET, HEAD, POST, PUT, PATCH, DELETE'])
      const called = await server.call('GET', '/api/rooms/', {
        headers: { Origin: 'https://app.example.com' },
      })
      expect([called.status, called.headers.get('Access-Control-Allow-Origin')]).toEqual([
        200,
        'https://app.example.com',
      ])
      expect(called.headers.get('Access-Control-Expose-Headers')).toContain('ETag')
      const foreign = await ask('https://evil.example.com')
      expect([
        foreign.status,
        foreign.headers.get('Access-Control-Allow-Origin'),
        foreign.headers.get('Vary'),
      ]).toEqual([405, null, 'Origin'])
    })
  },
  { 'allow-origins': 'https://app.example.com' },
)

onEveryStore(
  'requests through a proxy',
  bookings,
  (server) => {
    test('have the address of the client in the log, in one spelling, and no warning', async () => {
      for (const forwarded of ['2001:DB8:0:0::7', '[2001:db8::7]:99', '1.2.3.4, 2001:db8:0000::0007'])
        await server.call('GET', '/api/health?limit=79', { headers: { 'X-Forwarded-For': forwarded } })
      const lines = () =>
        server.logged
          .join('')
          .split('\n')
          .filter((one) => one.includes('limit=79'))
      await eventually(() => lines().length === 3)
      expect(lines().map((one) => JSON.parse(one).address)).toEqual([
        '2001:db8::7',
        '2001:db8::7',
        '2001:db8::7',
      ])
      expect(server.logged.join('')).not.toContain('"level":"warn"')
    })
  },
  { 'trusted-proxies': '::ffff:127.0.0.1' },
)

onEveryStore('requests', bookings, (server) => {
  test('no other origin may call unless it is allowed', async () => {
    const headers = { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' }
    const { status, headers: answered } = await server.call('OPTIONS', '/api/rooms/', { headers })
    expect([status, answered.get('Access-Control-Allow-Origin')]).toEqual([405, null])
  })

  test('every path works with and without its trailing slash', async () => {
    for (const path of [
      '/api/rooms',
      '/api/rooms/',
      '/api/health',
      '/api/health/',
      '/api/auth/me',
      '/api/auth/me/',
    ])
      expect((await server.call('GET', path)).status).toBe(200)
    const { id } = await server.expect(201, 'POST', '/api/rooms', { title: 'slash', beds: 1 })
    expect((await server.call('GET', `/api/rooms/${id}`)).body.title).toBe('slash')
    expect((await server.call('GET', `/api/rooms/${id}/`)).body.title).toBe('slash')
  })

  test('Accept must be there and admit JSON', async () => {
    const admitted = [
      'application/json',
      'APPLICATION/JSON',
      'application/*',
      '*/*',
      'text/html, */*;q=0.1',
      'text/html, application/json;q=0.5',
    ]
    const refused = [
      'text/html',
      'application/xml',
      '',
      'application/json;q=0',
      '*/*, application/json;q=0',
      'application/jsonp',
    ]
    for (const accept of admitted)
      expect([
        accept,
        (await server.call('GET', '/api/health', { headers: { Accept: accept } })).status,
      ]).toEqual([accept, 200])
    for (const accept of refused) {
      const { status, body } = await server.call('GET', '/api/health', { headers: { Accept: accept } })
      expect([accept, status, body.code]).toEqual([accept, 406, 'not_acceptable'])
    }
  })

  test('a body must say that it is JSON, in whatever spelling', async () => {
    const spelled = async (type: string) =>
      (await server.call('POST', '/api/rooms/', { raw: '{"title":1}', headers: { 'Content-Type': type } }))
        .status
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;x=y',
    ])
      expect([type, await spelled(type)]).toEqual([type, 422])
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json, text/plain',
      'application/jsonx',
      'application/ld+json',
      'application/json; charset=latin1',
      ' ',
      'multipart/form-data',
      'application /json',
      'json',
      'application/json\t,a',
      '*/*',
    ])
      expect([type, await spelled(type)]).toEqual([type, 415])
  })

  test('what is not a JSON object is 400, and writes nothing', async () => {
    const before = await server.rows('rooms')
    for (const [raw, code] of [
      ['', 'malformed_json'],
      ['{', 'malformed_json'],
      ['{"title": "a",}', 'malformed_json'],
      ['\uFEFF{}', 'malformed_json'],
      ['null', 'not_an_object'],
      ['"text"', 'not_an_object'],
      [`{"title":${'['.repeat(64)}${']'.repeat(64)}}`, 'too_deep'],
      ['['.repeat(100_000), 'too_deep'],
    ] as const) {
      const { status, body } = await server.call('POST', '/api/rooms/', { raw })
      expect([raw.slice(0, 20), status, body.code]).toEqual([raw.slice(0, 20), 400, code])
    }
    const invalidUtf8 = new Uint8Array([
      ...new TextEncoder().encode('{"title":"'),
      0xff,
      0xfe,
      ...new TextEncoder().encode('","beds":1}'),
    ])
    expect((await server.call('POST', '/api/rooms/', { raw: invalidUtf8 })).body.code).toBe('malformed_json')
    expect(
      (
        await server.call('POST', '/api/rooms/', {
          raw: `{"title":${'['.repeat(63)}${']'.repeat(63)},"beds":1}`,
        })
      ).status,
    ).toBe(422)
    expect(await server.rows('rooms')).toBe(before)
  })

  test('a client that goes away is no error of ours', async () => {
    const { hostname, port } = new URL(server.url)
    const before = server.logged.length
    const socket = await Bun.connect({ hostname, port: Number(port), socket: { data() {} } })
    socket.write(
      'POST /api/rooms/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    )
    await Bun.sleep(30)
    socket.end()
    await Bun.sleep(120)
    expect(server.logged.slice(before).join('')).not.toContain('"level":"error"')
  })

  test('more than 1 MiB is 413, declared or chunked', async () => {
    const huge = await server.call('POST', '/api/rooms/', { raw: 'x'.repeat(20 * 1024 * 1024) })
    expect([huge.status, huge.body?.code]).toEqual([413, 'too_large'])
    const raw = `{"title":"${'x'.repeat(1024 * 1024)}"}`
    expect((await server.call('POST', '/api/rooms/', { raw })).status).toBe(413)
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 40; at++) controller.enqueue(new TextEncoder().encode('x'.repeat(32 * 1024)))
        controller.close()
      },
    })
    const response = await fetch(`${server.url}/api/rooms/`, {
      method: 'POST',
      body: stream,
      headers: {
        Accept: '*/*',
        'Content-Type': 'application/json',
        Authorization: `Bearer ${server.adminToken}`,
      },
    })
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([413, 'too_large'])
  })

  test('unknown paths are 404, wrong methods 405 with Allow', async () => {
    for (const path of [
      '/x',
      '/api',
      '/api/',
      '/api/nothing/',
      '/api/rooms/1/x/',
      '/api/auth/',
      '/api/auth/nothing',
      '/API/rooms/',
      '/api//rooms/',
      '/api/rooms/1//',
    ])
      expect([path, (await server.call('GET', path)).status]).toEqual([path, 404])
    const { status, headers, body } = await server.call('PATCH', '/api/rooms/summary/', { body: {} })
    expect([status, headers.get('Allow'), body.code]).toEqual([405, 'GET, HEAD', 'method_not_allowed'])
    expect((await server.call('GET', '/api/auth/login')).headers.get('Allow')).toBe('POST')
    expect((await server.call('POST', '/api/rooms/1/', { body: {} })).headers.get('Allow')).toBe(
      'GET, HEAD, PATCH, PUT, DELETE',
    )
  })

  test('ids that are none are 404, not errors', async () => {
    for (const id of [
      '0',
      '-1',
      'abc',
      '1.0',
      '01',
      '1e3',
      '9007199254740993',
      '99999999999999999999',
      '%00',
      "1'",
      'NaN',
      '__proto__',
    ])
      expect([id, (await server.call('GET', `/api/rooms/${id}/`)).status]).toEqual([id, 404])
  })

  test('nothing in a query is silently ignored', async () => {
    const { id } = await server.expect(201, 'POST', '/api/rooms/', { title: 'query', beds: 1 })
    expectInvalid(await server.call('GET', `/api/rooms/${id}/?x=1`), { x: ['is not a parameter here'] })
    expectInvalid(await server.call('GET', '/api/rooms/?nothing=1'), {
      nothing: ['is not a parameter, nor a value of rooms'],
    })
    expectInvalid(await server.call('GET', '/api/rooms/?limit=1&limit=2'), {
      limit: ['is given more than once'],
    })
    expectInvalid(await server.call('POST', '/api/rooms/?a=1', { body: { title: 'n', beds: 1 } }), {
      a: ['is not a parameter here'],
    })
    expectInvalid(await server.call('GET', '/api/rooms/?__proto__=1'), {
      ['__proto__']: ['is not a parameter, nor a value of rooms'],
    })
    expectInvalid(
      await server.call('GET', `/api/rooms/?token=${server.adminToken}&token=x`, { token: null }),
      { token: ['is given more than once'] },
    )
    expectInvalid(await server.call('GET', '/api/health?x'), { x: ['is not a parameter here'] })
  })

  test('what is no UTF-8 in a query is refused under its name, and never read as something else', async () => {
    const no = ['must be UTF-8: some of its escaped bytes are not']
    for (const text of ['%ff', '%C3%28', 'a%E2%82', '%ED%A0%80', '%F4%90%80%80', '%C0%AF', '%zz%ff'])
      for (const name of ['title', 'filter', 'search', 'sort', 'fields', 'cursor'])
        expectInvalid(await server.call('GET', `/api/rooms/?limit=1&${name}=${text}`), { [name]: no })
    expectInvalid(await server.call('GET', '/api/rooms/?title=%ff&beds=%fe'), { title: no, beds: no })
    const { body } = await server.call('GET', '/api/rooms/?%ff=1')
    expect(body.errors['\ufffd']).toEqual(no)
    expectInvalid(await server.call('GET', '/api/health?%ffx=1'), { '\ufffdx': no })
    const part = { method: 'PUT', path: '/api/rooms/?match=%ff', body: { title: 'n', beds: 1 } }
    const answer = await server.call('POST', '/api/batch/', { body: [part] })
    expect([answer.status, answer.body.errors['0.match']]).toEqual([422, expect.arrayContaining(no)])
    // A `%` that starts no escape stands for itself, as in browsers. U+FFFD itself can be sent.
    for (const text of ['100%', '%zz', '%C3%A4', '%EF%BF%BD', '%F0%9F%90%92'])
      await server.expect(200, 'GET', `/api/rooms/?title=${text}`)
  })

  test('every answer carries the headers that all answers carry', async () => {
    const seen = new Set<string>()
    for (const path of ['/api/health', '/api/nothing', '/api/bookings/', '/api/rooms/999/']) {
      const { headers } = await server.call('GET', path)
      expect(headers.get('Cache-Control')).toBe('no-store')
      expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
      expect(headers.get('Referrer-Policy')).toBe('no-referrer')
      expect(headers.get('Content-Type')).toBe('application/json')
      seen.add(headers.get('Request-Id') ?? '')
    }
    expect(seen.size).toBe(4)
  })

  test('a browser at the root is shown the way', async () => {
    const response = await fetch(server.url, { redirect: 'manual' })
    expect([response.status, response.headers.get('Location')]).toEqual([302, '/console/'])
  })

  test('HEAD answers as GET, without the body', async () => {
    const { status, text, headers } = await server.call('HEAD', '/api/rooms/')
    expect([status, text, headers.get('Content-Type')]).toEqual([200, '', 'application/json'])
  })

  test('checks come in order: path, Accept, token, body, rule, validation', async () => {
    const bad = { headers: { Accept: 'text/html' }, raw: '{' }
    expect((await server.call('POST', '/api/nothing/', bad)).status).toBe(404)
    expect((await server.call('POST', '/api/notes/', { ...bad, token: 'x' })).status).toBe(406)
    expect((await server.call('POST', '/api/notes/', { raw: '{', token: 'x' })).status).toBe(401)
    expect((await server.call('POST', '/api/notes/', { raw: '{', token: null })).status).toBe(400)
    expect((await server.call('POST', '/api/notes/', { raw: '{}', token: null })).status).toBe(401)
    expect((await server.call('POST', '/api/notes/?x=1', { raw: '{}', token: null })).status).toBe(401)
    expect((await server.call('GET', '/api/auth/me?x=1', { token: null })).status).toBe(401)
    expect((await server.call('POST', '/api/notes/', { raw: '{}' })).status).toBe(422)
  })

  test('a log line has the address of the client', async () => {
    const from = server.logged.length
    await server.call('GET', '/api/health?limit=77')
    const line = () =>
      server.logged
        .slice(from)
        .join('')
        .split('\n')
        .find((one) => one.includes('limit=77'))
    await eventually(() => line() !== undefined)
    expect(JSON.parse(line() ?? '')).toMatchObject({ address: '127.0.0.1' })
  })

  test('a header that no proxy of ours has set is warned of, once', async () => {
    const warnings = () =>
      server.logged
        .join('')
        .split('\n')
        .filter((one) => one.includes('"level":"warn"'))
    for (const forwarded of ['198.51.100.1', '198.51.100.2, 10.0.0.1', 'nonsense'])
      await server.call('GET', '/api/health', { headers: { 'X-Forwarded-For': forwarded } })
    await eventually(() => warnings().length > 0)
    await server.call('GET', '/api/health?limit=78')
    await eventually(() => server.logged.join('').includes('limit=78'))
    expect(warnings().length).toBe(1)
    expect(JSON.parse(warnings()[0] ?? '').message).toContain('--trusted-proxies 127.0.0.1')
    // The header is not trusted.
    expect(server.logged.join('')).not.toContain('"address":"198.51.100')
  })

  test('health needs no token; its log line never shows one', async () => {
    expect((await server.call('GET', '/api/health', { token: null })).body).toEqual({ status: 'ok' })
    await server.call('GET', `/api/rooms/?token=${server.adminToken}&limit=1`, { token: null })
    await server.call('GET', `/api/rooms/?%74oken=${server.adminToken}`, { token: null })
    await eventually(() => server.logged.join('').includes('"path":"/api/rooms/?limit=1","status":200'))
    const log = server.logged.join('')
    expect(log).toContain('"path":"/api/rooms/?limit=1","status":200')
    expect(log).toContain('"actor":"admins/1"')
    expect(log).not.toContain(server.adminToken)
    const { length } = server.logged
    for (const path of [
      '?TOKEN=',
      '?access_token=',
      '?token[]=',
      '?a;token=',
      '?limit=1%26token=',
      ';token=',
      'x/',
    ])
      await server.call('GET', `/api/rooms/${path}${server.adminToken}`, { token: null })
    await server.call('POST', '/api/auth/login?password=canary-password', { body: {}, token: null })
    await server.call('GET', '/docs', { token: null })
    await eventually(() => server.logged.slice(length).join('').includes('"path":"/docs"'))
    const more = server.logged.slice(length).join('')
    expect(more).not.toContain(server.adminToken.slice(0, 100))
    expect(more).not.toContain('canary')
    expect(more).toContain('"path":"/docs"')
  })
})
