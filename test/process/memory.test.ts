import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { eventually } from '../harness.ts'
import { example, newFolder, run, serve } from './process.ts'

const DATABASE = ['--config', example, '--database', 'sqlite::memory:']

/** Goes through the whole life of a room, and makes other reads and writes. */
async function use(url: string, password: string): Promise<void> {
  const send = (method: string, path: string, body?: object, token?: string) =>
    fetch(`${url}/api/${path}`, {
      method,
      headers: {
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const login = await send('POST', 'auth/login', { email: 'admin@example.com', password })
  const { token } = (await login.json()) as { token: string }
  const statuses: [string, number][] = []
  for (const [method, path, body] of [
    ['POST', 'rooms/', { title: 'Attic', beds: 2 }],
    ['PATCH', 'rooms/1/', { beds: 3 }],
    ['GET', 'rooms/?search=attic&count=1', undefined],
    ['GET', 'rooms/?filter=beds>2&sort=-beds', undefined],
    ['DELETE', 'rooms/1/', undefined],
    ['DELETE', 'rooms/1/?restore=1', undefined],
    ['GET', 'rooms/1/history/', undefined],
    ['GET', 'rooms/summary/?count=1', undefined],
    ['GET', 'operations/', undefined],
    ['DELETE', 'rooms/1/', undefined],
    ['DELETE', 'rooms/1/?purge=1', undefined],
  ] as const)
    statuses.push([`${method} ${path}`, (await send(method, path, body, token)).status])
  expect(statuses.filter(([, status]) => status >= 300)).toEqual([])
}

test('sqlite::memory: serves everything, leaves no file and forgets at the end', async () => {
  const folder = newFolder()
  const passwords: string[] = []
  for (let round = 0; round < 2; round++) {
    const server = await serve(DATABASE, { cwd: folder })
    await eventually(() => server.said().includes('# taken back'))
    expect(server.said()).toContain('with the data in memory')
    const password = /password {2}(\S+)/.exec(server.said())?.[1] ?? ''
    passwords.push(password)
    await use(server.url, password)
    expect(await server.end()).toBe(0)
    expect(readdirSync(folder)).toEqual([])
  }
  expect(passwords[0]).not.toBe(passwords[1])
})

test('commands whose work would be lost refuse it', async () => {
  const folder = newFolder()
  for (const args of [
    ['user', 'add', 'admins', 'a@example.com', '--password', 'a long password', ...DATABASE],
    ['migrate', '--apply', ...DATABASE],
    ['history', 'rooms/1', ...DATABASE],
    ['copy', '--from', 'sqlite:a.db', '--to', 'sqlite::memory:'],
  ]) {
    const { code, err } = await run(args, { cwd: folder })
    expect([code, err]).toEqual([1, expect.stringContaining('needs a database on disk') as unknown as string])
  }
  expect(readdirSync(folder)).toEqual([])
})
