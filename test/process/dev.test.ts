import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness.ts'
import { commandLine, newFolder, run, takeback } from './process.ts'

const config = `import { app, entity, everyone } from 'takeback'
import { rooms } from './types/rooms.ts'
const end = { access: everyone, run() { process.kill(process.pid, 'SIGKILL') } }
export default app({ entities: { rooms: entity(rooms) }, routes: { 'POST /api/end/': end } })`

const rooms = (fields: string) => `import { everyone, integer, text } from 'takeback'
export const rooms = { fields: { ${fields} }, access: { read: everyone, create: everyone } }`

/** Creates a project in a new folder. `change` writes other fields of its rooms. */
async function newProject(fields: string) {
  const folder = newFolder()
  await Bun.write(join(folder, 'takeback.config.ts'), config)
  await Bun.write(join(folder, 'types', 'rooms.ts'), rooms(fields))
  return {
    folder,
    database: `sqlite:${join(folder, 'dev.db')}`,
    config: join(folder, 'takeback.config.ts'),
    change: (next: string) => writeFileSync(join(folder, 'types', 'rooms.ts'), rooms(next)),
  }
}

type Project = Awaited<ReturnType<typeof newProject>>

/** `said()` is everything that dev and its servers have printed, `urls()` their addresses. */
function listen(said: () => string) {
  const urls = () => [...said().matchAll(/http:\/\/127\.0\.0\.1:\d+(?=,)/g)].map(([url]) => url)
  const post = async (body: object) => {
    const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }
    const url = `${urls().at(-1)}/api/rooms/`
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  return { said, urls, post }
}

function startDev({ folder, config, database }: Project, more: readonly string[] = []) {
  const args = ['--config', config, '--database', database, ...more]
  const child = takeback(['dev', '--port', '0', ...args], { cwd: folder })
  let said = ''
  const gather = Promise.all(
    [child.stdout, child.stderr].map(async (stream) => {
      for await (const chunk of stream) said += new TextDecoder().decode(chunk)
    }),
  )
  return { child, gather, ...listen(() => said) }
}

/** Starts dev at a terminal, where it can ask questions. */
function startDevAtTerminal({ folder, config, database }: Project) {
  let said = ''
  const terminal = new Bun.Terminal({
    cols: 1000,
    rows: 50,
    data: (_, data) => {
      said += new TextDecoder().decode(data)
    },
  })
  const command = [
    process.execPath,
    commandLine,
    'dev',
    '--port',
    '0',
    '--config',
    config,
    '--database',
    database,
  ]
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NO_COLOR: '1' }
  const child = Bun.spawn(command, { cwd: folder, terminal, env })
  const questions = () => said.split('[y/N]').length - 1
  return { child, terminal, questions, ...listen(() => said) }
}

async function isGone(url: string | undefined): Promise<boolean> {
  return fetch(`${url}/api/health`).then(
    () => false,
    () => true,
  )
}

test('dev restarts when a file changes: additions at once, the rest only if asked to', async () => {
  const project = await newProject('title: text()')
  const { change } = project
  const { child, gather, said, urls, post } = startDev(project)
  try {
    await eventually(() => urls().length === 1)
    expect(said()).toContain('rooms is a new Entity type')
    expect(await post({ title: 'a', beds: 2 })).toBe(422)

    change('title: text(), beds: integer({ optional: true })')
    await eventually(() => urls().length === 2)
    expect(said()).toContain('safe     rooms.beds is new, and empty in existing rows')
    expect(await post({ title: 'a', beds: 2 })).toBe(201)

    // A mistake is shown, and the server keeps running.
    change('title: txt()')
    await eventually(() => said().includes('The server keeps running with the previous declaration.'))
    expect(said()).toContain('cannot be loaded')
    expect(await post({ title: 'b', beds: 2 })).toBe(201)

    // It also keeps running if a change removes something and nobody has agreed.
    change('title: text()')
    await eventually(() => said().includes('there is no terminal to ask on: start with --yes'))
    expect(said()).toContain('aside    rooms.beds is no longer declared')
    expect(await post({ title: 'c', beds: 2 })).toBe(201)
    expect(urls()).toHaveLength(2)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    await gather
  }
  await expect(fetch(`${urls().at(-1)}/api/health`)).rejects.toThrow()
})

test('a question is withdrawn when the declaration changes: what was not shown is never done', async () => {
  const project = await newProject(
    'title: text(), beds: integer({ optional: true }), floor: integer({ optional: true })',
  )
  const { child, terminal, said, urls, questions, post } = startDevAtTerminal(project)
  try {
    await eventually(() => urls().length === 1)
    project.change('title: text(), floor: integer({ optional: true })')
    await eventually(() => questions() === 1)
    project.change('title: text(), beds: integer({ optional: true })')
    await eventually(() => questions() === 2)
    expect(said().split('[y/N]')[1]).toContain('rooms.floor is no longer declared')
    expect(said().split('[y/N]')[1]).not.toContain('rooms.beds')
    terminal.write('y\n')
    await eventually(() => urls().length === 2)
    expect(await post({ title: 'a', beds: 2 })).toBe(201)
    // A return to an older declaration asks for agreement, too.
    project.change('title: text(), beds: integer({ optional: true }), floor: integer({ optional: true })')
    await eventually(() => questions() === 3)
    terminal.write('y\n')
    await eventually(() => urls().length === 3)
    expect(await post({ title: 'a', beds: 2, floor: 1 })).toBe(201)
    // Ctrl-C at a question ends it, as always.
    project.change('title: text()')
    await eventually(() => questions() === 4)
    terminal.write('\x03')
    expect(await child.exited).toBe(0)
    expect(said()).not.toContain('AbortError')
    expect(await isGone(urls().at(-1))).toBe(true)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    terminal.close()
  }
})

test('a server of dev migrates to no declaration but the one that was shown', async () => {
  const { folder, config, database } = await newProject('title: text()')
  const args = ['--config', config, '--database', database]
  const env = { TAKEBACK_DEV_DECLARATION: 'another one' }
  const refused = await run(['serve', '--port', '0', ...args], { cwd: folder, env })
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('The declaration has changed since the plan was shown. Nothing was changed.')
  const { out } = await run(['migrate', '--json', ...args], { cwd: folder })
  expect(JSON.parse(out)).toMatchObject({ safe: 1, declaration: expect.any(String) })
})

test.each(['SIGKILL', 'SIGHUP', 'SIGTERM'] as const)('its server ends with it: %s', async (signal) => {
  const { child, gather, urls } = startDev(await newProject('title: text()'))
  await eventually(() => urls().length === 1)
  child.kill(signal)
  await child.exited
  await eventually(() => isGone(urls()[0]))
  await gather
})

test('a mistake leaves a server with a database in memory alone, and an end of the server is told', async () => {
  const project = { ...(await newProject('title: text()')), database: 'sqlite::memory:' }
  const { child, gather, said, urls, post } = startDev(project)
  try {
    await eventually(() => urls().length === 1)
    project.change('title: txt()')
    await eventually(() => said().includes('The server keeps running with the previous declaration.'))
    expect(said()).toContain('cannot be loaded')
    expect(await post({ title: 'a' })).toBe(201)

    await expect(fetch(`${urls()[0]}/api/end/`, { method: 'POST' })).rejects.toThrow()
    await eventually(() =>
      said().includes('The server has stopped. It restarts when the declaration changes.'),
    )
    project.change('title: text({ max: 9 })')
    await eventually(() => urls().length === 2)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    await gather
  }
})
