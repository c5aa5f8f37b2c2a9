import { afterAll, describe, expect, test } from 'bun:test'
import type { Webhook } from '../declare/model.ts'
import { isPublicAddress } from '../declare/public-address.ts'
import { type Network, send } from './send.ts'

/** A certificate of `erp.test`, for a hundred years. Made for this test, and useless elsewhere. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBkTCCATigAwIBAgIUODHBFzM6ad/iOq/5z0K66cLQG10wCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIZXJwLnRlc3QwIBcNMjYxMTE1MjM1MTM1WhgPMjEyNjEwMjIy
MzUxMzVaMBMxETAPBgNVBAMMCGVycC50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEhlMymUPU7cEOU+/NX9gfAPqIxTOFIyAvicT4xnjeSH5dCeoz71nyfmxA
28C315iSDYgvGpEFWAtZOw0A8eUfwKNoMGYwHQYDVR0OBBYEFHm68r1CMjQ4JKI6
Ap+9lzuGS4L/MB8GA1UdIwQYMBaAFHm68r1CMjQ4JKI6Ap+9lzuGS4L/MA8GA1Ud
EwEB/wQFMAMBAf8wEwYDVR0RBAwwCoIIZXJwLnRlc3QwCgYIKoZIzj0EAwIDRwAw
RAIgTnGS0zxaAV7JM+e/6N7a3YU6YH/GWvNlP87aZqGKHyICIGTBy400eox43ukt
sosVG5RhHV9O14gVwYo0ZSN6T16V
-----END CERTIFICATE-----`
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLZbCB9ayZHNdXWxj
Y1H4/LgEmo6SAWEsRiiQ708PEBihRANCAASGUzKZQ9TtwQ5T781f2B8A+ojFM4Uj
IC+JxPjGeN5Ifl0J6jPvWfJ+bEDbwLfXmJINiC8akQVYC1k7DQDx5R/A
-----END PRIVATE KEY-----`

describe('a request to a webhook', () => {
  const seen: { host: string | null; url: string; body: string }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert: CERTIFICATE, key: KEY },
    async fetch(request) {
      seen.push({ host: request.headers.get('host'), url: request.url, body: await request.text() })
      return new Response('x'.repeat(1_000_000))
    },
  })
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  afterAll(async () => {
    silent.stop(true)
    await server.stop(true)
  })
  const message = { id: 'one', body: '{}' }
  const webhookTo = (to: string, allowed = true): Webhook => ({
    name: 'erp',
    to,
    secrets: [btoa('0123456789abcdef01234567')],
    kinds: new Map(),
    filter: undefined,
    allowed,
  })
  const sendTo = (to: string, network: Network, allowed = true) =>
    send(webhookTo(to, allowed), message, new AbortController().signal, network)

  test('goes to the address that was looked up, once, with the name of the host', async () => {
    let lookups = 0
    const network: Network = {
      ca: CERTIFICATE,
      async lookup() {
        // A second lookup would return another address.
        return lookups++ === 0 ? ['127.0.0.1'] : ['192.0.2.1']
      },
    }
    const { status, error } = await sendTo(`https://erp.test:${server.port}/in?x=1`, network)
    expect([status, error, lookups]).toEqual([200, null, 1])
    const host = `erp.test:${server.port}`
    expect(seen).toEqual([{ host, url: `https://${host}/in?x=1`, body: '{}' }])
  })

  test('is refused by a certificate of another name, or of nobody known', async () => {
    const lookup = async () => ['127.0.0.1']
    const wrong = await sendTo(`https://other.test:${server.port}/`, { ca: CERTIFICATE, lookup })
    expect(wrong).toMatchObject({
      status: null,
      error: 'could not be reached (ERR_TLS_CERT_ALTNAME_INVALID)',
    })
    const unknown = await sendTo(`https://erp.test:${server.port}/`, { lookup })
    expect(unknown).toMatchObject({
      status: null,
      error: 'could not be reached (DEPTH_ZERO_SELF_SIGNED_CERT)',
    })
    expect(seen.length).toBe(1)
  })

  test('tries the next address if the first does not answer, and says why if none does', async () => {
    const to = `https://erp.test:${server.port}/`
    const lookup = async () => ['127.0.0.2', '127.0.0.1']
    expect(await sendTo(to, { ca: CERTIFICATE, lookup })).toMatchObject({ status: 200 })
    expect(await sendTo('https://erp.test:1/', { lookup })).toMatchObject({
      status: null,
      error: expect.stringMatching(/^could not be reached/),
    })
    expect(await sendTo(to, { lookup: async () => [] })).toMatchObject({ error: 'has no address' })
    const away = Promise.reject(Object.assign(new Error('at erp.test/secret'), { code: 'ENOTFOUND' }))
    expect(await sendTo(to, { lookup: () => away })).toMatchObject({
      error: 'could not be reached (ENOTFOUND)',
    })
  })

  test('never goes to a private address that was not allowed by name, even as one of several', async () => {
    const before = seen.length
    const to = `https://erp.test:${server.port}/`
    const delivery = await sendTo(
      to,
      { ca: CERTIFICATE, lookup: async () => ['8.8.8.8', '127.0.0.1'] },
      false,
    )
    expect(delivery).toMatchObject({
      status: null,
      error: 'has the address 127.0.0.1, which is not on the public internet and was not allowed',
    })
    expect(seen.length).toBe(before)
  })

  test('ends after its time, whether nobody answers or the name is not found', async () => {
    const slow = { status: null, error: 'did not answer within 0.05 s' }
    expect(await sendTo(`http://127.0.0.1:${silent.port}/`, { limit: 50 })).toMatchObject(slow)
    const lookup = () => new Promise<never>(() => {})
    expect(await sendTo('https://erp.test/', { limit: 50, lookup })).toMatchObject(slow)
  })

  test('does not listen to an answer without end, and closes the connection', async () => {
    let closed = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    /** Sends a head, then the same text forever. */
    const endless = (head: string, more: string) =>
      Bun.listen({
        hostname: '127.0.0.1',
        port: 0,
        socket: {
          data: (socket) => void socket.write(head),
          drain: (socket) => void socket.write(more.repeat(1000)),
          close: () => void (++closed === 2 && resolve()),
        },
      })
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    const servers = [
      endless(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(1000)}`, chunk),
      endless(`HTTP/1.1 200 OK\r\n${`X-More: ${'y'.repeat(4000)}\r\n`.repeat(1000)}`, 'X: y\r\n'),
    ]
    const sent = servers.map(({ port }) => sendTo(`http://127.0.0.1:${port}/`, {}))
    const [body, headers] = await Promise.all(sent)
    await promise
    expect([body?.status, headers?.status]).toEqual([200, null])
    expect(headers?.error).toStartWith('could not be reached')
    for (const one of servers) one.stop(true)
  })

  test('ends when it is told to, whatever the other server does', async () => {
    const abort = new AbortController()
    const sent = send(webhookTo(`http://127.0.0.1:${silent.port}/`), message, abort.signal)
    setTimeout(() => abort.abort(new Error('stop')), 20)
    expect(sent).rejects.toThrow('stop')
    await sent.catch(() => {})
  })
})

test('which addresses are public', () => {
  const open = [
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
  ]
  const closed = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2002:a00:1::1',
    '2001:0:1::1',
    '2001:db8::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '5f00::1',
    'erp.test',
    '',
  ]
  expect(open.filter((address) => !isPublicAddress(address))).toEqual([])
  expect(closed.filter(isPublicAddress)).toEqual([])
})
