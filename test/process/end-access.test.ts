import { expect, test } from 'bun:test'
import { eventually, newDatabase, onEveryStoreByHand } from '../harness.ts'
import { login, newFolder, prepared, run, runHere, serve } from './process.ts'

onEveryStoreByHand('a database of which all access is ended', (store) => {
  test('refuses old tokens and keys, on running servers too, and accepts new logins', async () => {
    const { database, args } = await prepared(store)
    const server = await serve(args)
    try {
      const headers = await login(server.url)
      const body = JSON.stringify({ name: 'Import' })
      const made = await fetch(`${server.url}/api/auth/keys/`, { method: 'POST', headers, body })
      const { key } = (await made.json()) as { key: string }
      const withKey = { ...headers, Authorization: `Bearer ${key}` }
      const statusOf = async (sent: Record<string, string>) =>
        (await fetch(`${server.url}/api/rooms/`, { headers: sent })).status
      expect([await statusOf(headers), await statusOf(withKey)]).toEqual([200, 200])

      const refused = await run(['sessions', 'end', '--database', database.url])
      expect([refused.code, refused.err]).toEqual([
        1,
        'Everyone would have to log in again. Say so: takeback sessions end --all.\n',
      ])
      expect(await statusOf(headers)).toBe(200)

      const ended = await run(['sessions', 'end', '--all', '--database', database.url])
      expect([ended.out, ended.err]).toEqual([
        'Ended all sessions (1) and all mailed links (0). Everyone must log in again.\n',
        '',
      ])
      await eventually(async () => (await statusOf(headers)) === 401)
      expect(await statusOf(withKey)).toBe(200)
      expect(await statusOf(await login(server.url))).toBe(200)

      // Without a terminal to ask on, nothing ends.
      const unasked = await run(['keys', 'end', '--all', '--database', database.url])
      expect([unasked.code, await statusOf(withKey)]).toEqual([1, 200])
      const keys = await run(['keys', 'end', '--all', '--yes', '--database', database.url])
      expect([keys.out, keys.err]).toEqual(['Ended all keys (1). Programs need new ones.\n', ''])
      await eventually(async () => (await statusOf(withKey)) === 401)
      expect((await run(['check', '--database', database.url])).code).toBe(0)
    } finally {
      await server.end()
      await database.remove()
    }
  })

  test('must be one of Takeback', async () => {
    const database = await newDatabase(store, newFolder())
    await database.query('CREATE TABLE others (id int)')
    for (const args of [
      ['sessions', 'end', '--all'],
      ['keys', 'end', '--all', '--yes'],
    ]) {
      const { out, err } = await runHere([...args, '--database', database.url])
      expect([out, err]).toEqual(['', expect.stringContaining("has tables that are not Takeback's")])
    }
    await database.remove()
  })
})
