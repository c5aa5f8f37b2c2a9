import { expect, test } from 'bun:test'
import { entity, everyone, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onEveryStore, TestServer } from '../harness.ts'

const declaration = withAdmins({
  news: entity({ fields: { title: text() }, access: { read: everyone } }),
})

/** Collects the versions that a listener at an instance receives, in order. */
async function listenTo({ url }: TestServer): Promise<string[]> {
  const { body } = await fetch(`${url}/api/changes/?entity=news`, {
    headers: { Accept: 'text/event-stream' },
  })
  const heard: string[] = []
  const read = async () => {
    let text = ''
    for await (const chunk of body as ReadableStream<Uint8Array>) {
      const frames = `${text}${new TextDecoder().decode(chunk)}`.split('\n\n')
      text = frames.pop() ?? ''
      for (const [, data = '{}'] of frames.flatMap((frame) => [...frame.matchAll(/^data: (.*)$/gm)])) {
        const { id, version } = JSON.parse(data)
        heard.push(`${id}/${version}`)
      }
    }
  }
  read().catch(() => {})
  return heard
}

/** Creates an Entity, changes it, and returns its versions. */
async function writeAt(server: TestServer): Promise<string[]> {
  const { id } = await server.expect(201, 'POST', '/api/news/', { title: 'a' })
  const changed = await server.expect(200, 'PATCH', `/api/news/${id}/`, { title: 'b' })
  return [`${id}/1`, `${id}/${changed.version}`]
}

onEveryStore('three instances', declaration, (server) => {
  test('tell a listener at each every version that is written at the others, once and in order', async () => {
    const database = await server.database()
    const others = [0, 1].map(() => new TestServer('', declaration, {}, database))
    try {
      for (const other of others) {
        other.adminToken = server.adminToken
        await other.start()
      }
      const all = [server, ...others]
      const heard = await Promise.all(all.map(listenTo))
      const written: string[] = []
      for (let round = 0; round < 5; round++)
        written.push(...(await Promise.all([...all, ...all].map(writeAt))).flat())
      for (const one of heard) {
        await eventually(() => one.length >= written.length)
        expect(one.toSorted()).toEqual(written.toSorted())
        for (const version of one.filter((text) => text.endsWith('/2')))
          expect(one.indexOf(version.replace('/2', '/1'))).toBeLessThan(one.indexOf(version))
      }
    } finally {
      for (const other of others) await other.stop()
    }
  })
})
