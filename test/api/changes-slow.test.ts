import { expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { budget } from '../../src/budget.ts'
import { entity, everyone, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onStore, type TestServer } from '../harness.ts'

const declaration = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { read: 'id == me.id' } }),
  news: entity({ fields: { title: text() }, access: { read: everyone } }),
})

/** More data than the buffers of the system and of the server hold. */
const MEGABYTES = 12

/** A client of a stream that only reads when told to. */
interface Deaf {
  readonly socket: Socket
  isOver: boolean
  text: string
}

async function listen(server: TestServer, path: string, token?: string): Promise<Deaf> {
  const { hostname, port, host } = new URL(server.url)
  const socket = connect({ host: hostname, port: Number(port) })
  const deaf: Deaf = { socket, isOver: false, text: '' }
  const bearer = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\nConnection: close\r\n${bearer}\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  socket.on('data', (chunk) => {
    deaf.text = (deaf.text + chunk.toString('latin1')).slice(-1_000_000)
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    deaf.isOver = true
  })
  return deaf
}

onStore('sqlite', 'clients of the feed that are slow', declaration, (server) => {
  const add = (title: string) => server.expect(201, 'POST', '/api/news/', { title })
  const now = async () => (await server.call('GET', '/api/changes/')).body.next as string
  const backlog = async () => {
    const start = await now()
    for (let sent = 0; sent < 2 * MEGABYTES; sent++) await add('x'.repeat(500_000))
    return `/api/changes/?entity=news&limit=1&since=${start}`
  }

  test('are told nothing any more once their token has ended', async () => {
    const { token } = await server.user('users', { email: 'ann@example.com' })
    const deaf = await listen(server, await backlog(), token)
    await server.expect(204, 'POST', '/api/auth/logout', undefined, { token })
    await add('not for ann')
    deaf.socket.resume()
    await eventually(() => deaf.isOver || deaf.text.includes('not for ann'))
    expect([deaf.isOver, deaf.text.includes('not for ann')]).toEqual([true, false])
  })

  test('do not keep the server from stopping', async () => {
    const deaf = await listen(server, await backlog())
    // Until all buffers are full. If the machine is busy, they are not, and the test passes for less.
    await Bun.sleep(500)
    // A server that stops waits so long for running requests.
    const waited = Bun.sleep(10_000).then(() => 'waited')
    const stopped = server.stop().then(() => 'stopped')
    expect(await Promise.race([stopped, waited])).toBe('stopped')
    deaf.socket.destroy()
    await stopped
    await server.start()
  })

  test('keep nobody else from catching up', async () => {
    const path = await backlog()
    // Clients that do not read are cut off only after this time.
    const stalled = Bun.sleep(budget.streamStallMs).then(() => 'stalled')
    const deaf = await Promise.all(Array.from({ length: budget.catchUps + 1 }, () => listen(server, path)))
    const position = await now()
    await add('for all')
    const other = await listen(server, `/api/changes/?entity=news&since=${position}`)
    other.socket.resume()
    const heard = eventually(() => other.text.includes('for all')).then(() => 'told')
    expect(await Promise.race([heard, stalled])).toBe('told')
    for (const { socket } of [...deaf, other]) socket.destroy()
  })
})
