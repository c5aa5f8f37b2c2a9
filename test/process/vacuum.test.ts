import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { eventually, onEveryStoreByHand } from '../harness.ts'
import { prepared, run, serve } from './process.ts'

onEveryStoreByHand('takeback vacuum', (store) => {
  test('leaves nothing in the file but what is there, beside a running server too', async () => {
    const { database, args } = await prepared(store)
    const server = await serve(args)
    const word = 'a word that is in no row'
    await database.query('CREATE TABLE leftover (value text)')
    // This connection has no secure_delete, so deleted data stays in the file.
    await database.query('INSERT INTO leftover VALUES ($1)', word)
    await database.query('DELETE FROM leftover')
    const has = () => readFileSync(database.url.replace('sqlite:', '')).includes(word)
    const location = ['--database', database.url]
    if (store === 'sqlite') {
      await eventually(async () => {
        await database.query('PRAGMA wal_checkpoint(TRUNCATE)')
        return has()
      })
      const { code, out, err } = await run(['vacuum', ...location])
      expect([code, out.startsWith('Rewrote '), err]).toEqual([0, true, ''])
      expect(has()).toBe(false)
    } else {
      const { code, err } = await run(['vacuum', ...location])
      expect([code, err]).toEqual([
        1,
        'PostgreSQL removes erased data on its own. To do it at once, run VACUUM in psql.\n',
      ])
    }
    expect((await fetch(`${server.url}/api/health`, { headers: { Accept: '*/*' } })).status).toBe(200)
    await server.end()
    await database.remove()
  })
})
