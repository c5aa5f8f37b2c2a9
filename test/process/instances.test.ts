import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { example, newFolder, run, serve } from './process.ts'

test('what one server ends is over on another one at once', async () => {
  const args = ['--config', example, '--database', `sqlite:${join(newFolder(), 't.db')}`]
  await run(['user', 'add', 'admins', 'a@example.com', '--password', 'a long password', ...args])
  const [one, two] = [await serve(args), await serve(args)]
  const headers = { Accept: '*/*', 'Content-Type': 'application/json' }
  for (let round = 0; round < 3; round++) {
    const login = await fetch(`${one.url}/api/auth/login`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ email: 'a@example.com', password: 'a long password' }),
    })
    const { token } = (await login.json()) as { token: string }
    const signed = { ...headers, Authorization: `Bearer ${token}` }
    const post = () =>
      fetch(`${two.url}/api/rooms/`, {
        method: 'POST',
        headers: signed,
        body: JSON.stringify({ title: `r${Math.random()}`, beds: 1 }),
      })
    expect((await post()).status).toBe(201)
    expect((await fetch(`${two.url}/api/auth/me`, { headers: signed })).status).toBe(200)
    expect((await fetch(`${one.url}/api/auth/logout`, { method: 'POST', headers: signed })).status).toBe(204)
    await Bun.sleep(2) // the other one looks once in a millisecond
    expect((await post()).status).toBe(401)
  }
  expect([await one.end(), await two.end()]).toEqual([0, 0])
}, 30_000)
