import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness.ts'
import { newFolder, takeback } from './process.ts'

const config = `import { app, entity } from 'takeback'
import { rooms } from './types/rooms.ts'
export default app({ entities: { rooms: entity(rooms) } })`

const rooms = (fields: string) => `import { everyone, integer, text } from 'takeback'
export const rooms = { fields: { ${fields} }, access: { read: everyone, create: everyone } }`

test('dev restarts when a file changes: additions at once, the rest only if asked to', async () => {
  const folder = newFolder()
  await Bun.write(join(folder, 'takeback.config.ts'), config)
  await Bun.write(join(folder, 'types', 'rooms.ts'), rooms('title: text()'))
  const change = (fields: string) => writeFileSync(join(folder, 'types', 'rooms.ts'), rooms(fields))
  const args = [
    '--config',
    join(folder, 'takeback.config.ts'),
    '--database',
    `sqlite:${join(folder, 'dev.db')}`,
  ]
  const child = takeback(['dev', '--port', '0', ...args], { cwd: folder })
  let said = ''
  const gather = Promise.all(
    [child.stdout, child.stderr].map(async (stream) => {
      for await (const chunk of stream) said += new TextDecoder().decode(chunk)
    }),
  )
  const urls = () => [...said.matchAll(/http:\/\/127\.0\.0\.1:\d+(?=,)/g)].map(([url]) => url)
  const post = async (body: object) => {
    const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }
    const url = `${urls().at(-1)}/api/rooms/`
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  try {
    await eventually(() => urls().length === 1)
    expect(said).toContain('rooms is a new Entity type')
    expect(await post({ title: 'a', beds: 2 })).toBe(422)

    change('title: text(), beds: integer({ optional: true })')
    await eventually(() => urls().length === 2)
    expect(said).toContain('safe     rooms.beds is new, and empty in existing rows')
    expect(await post({ title: 'a', beds: 2 })).toBe(201)

    // A mistake is shown, and the server goes on.
    change('title: txt()')
    await eventually(() => said.includes('cannot be loaded'))
    expect(await post({ title: 'b', beds: 2 })).toBe(201)

    // So does one that takes something away, as long as nobody agrees.
    change('title: text()')
    await eventually(() => said.includes('there is no terminal to ask on: start with --yes'))
    expect(said).toContain('aside    rooms.beds is no longer declared')
    expect(await post({ title: 'c', beds: 2 })).toBe(201)
    expect(urls()).toHaveLength(2)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    await gather
  }
  await expect(fetch(`${urls().at(-1)}/api/health`)).rejects.toThrow()
})
