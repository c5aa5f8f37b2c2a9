import { afterAll, describe, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { readConfig } from '../../src/config.ts'
import { inspectBackup } from '../../src/store/backup/inspect.ts'
import { dropBackups } from '../../src/store/backup/keep.ts'
import { makeBackup } from '../../src/store/backup/make.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { check } from '../../src/store/check/check.ts'
import { eventually, newDatabase, onEveryStoreByHand, runs, type TestDatabase } from '../harness.ts'
import { example, LOGIN, newFolder, prepared, run, runHere, serve } from './process.ts'

const locationOf = (url: string) => readConfig({ database: url }, {}).database
const PASSPHRASE = 'a passphrase of some length'

async function call(url: string, method: string, path: string, body?: object, token = ''): Promise<any> {
  const response = await fetch(`${url}/api/${path}`, {
    method,
    headers: {
      Accept: 'application/json',
      'Content-Type': 'application/json',
      ...(token !== '' && { Authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** The pause between two writes: a backup takes as long as dozens of writes. */
const PAUSE_MS = 5

/** Creates rooms until stopped, and records which were acknowledged. */
class Writer {
  readonly acknowledged: string[] = []
  #stopped = false
  readonly #done: Promise<void>

  constructor(url: string, token: string) {
    this.#done = this.#write(url, token)
  }

  async #write(url: string, token: string): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      const title = `room ${n}`
      await call(url, 'POST', 'rooms/', { title, beds: 1 + (n % 5) }, token)
      this.acknowledged.push(title)
      await Bun.sleep(PAUSE_MS)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }
}

const titlesIn = async ({ query }: TestDatabase) =>
  (await query('SELECT title FROM rooms ORDER BY id')).map(({ title }) => String(title))

/** Expects each Entity at the version of its last change, and rows that equal the journal. */
async function expectAgreement({ query }: TestDatabase): Promise<void> {
  const [row] = await query(
    `SELECT (SELECT count(*) FROM rooms) AS rooms, (SELECT count(*) FROM takeback_journal WHERE entity = 'rooms' AND kind = 'create') AS made`,
  )
  expect(row?.rooms).toBe(row?.made)
}

onEveryStoreByHand('takeback backup', (store) => {
  const databases: TestDatabase[] = []
  afterAll(() => Promise.all(databases.map((database) => database.remove())))
  const made = async (kind: string) => {
    const database = await newDatabase(kind, newFolder())
    databases.push(database)
    return database
  }

  test('beside a busy server holds all that was acknowledged before, and can be restored to either database', async () => {
    const { database, args } = await prepared(store)
    databases.push(database)
    const server = await serve(args)
    const { token } = await call(server.url, 'POST', 'auth/login', LOGIN)
    const writer = new Writer(server.url, token)
    await eventually(() => writer.acknowledged.length > 50)
    const before = writer.acknowledged.length
    const folder = newFolder()
    const { code, out, err } = await run(['backup', '--to', folder, '--database', database.url])
    await writer.stop()
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('found the file sound')
    const files = readdirSync(folder)
    expect(files).toHaveLength(1)
    const file = join(folder, files[0] ?? '')
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)

    for (const kind of ['sqlite', 'postgres']) {
      const target = await made(kind)
      const restored = await run(['restore', file, '--to', target.url])
      expect([restored.code, restored.err]).toEqual([0, ''])
      expect(restored.out).toContain(`${file} is sound.`)
      const titles = await titlesIn(target)
      expect(titles.length).toBeGreaterThanOrEqual(before)
      expect(titles).toEqual(writer.acknowledged.slice(0, titles.length))
      expect(restored.out).toMatch(new RegExp(`^ {2}rooms +${titles.length.toLocaleString('en')}$`, 'm'))
      await expectAgreement(target)
      const again = await serve(['--config', example, '--database', target.url])
      // The secret was copied: the token is still valid, and ids continue.
      const next = await call(again.url, 'POST', 'rooms/', { title: 'next', beds: 1 }, token)
      // If ids are assigned outside of transactions, some may be skipped.
      expect(next.id).toBeGreaterThan(titles.length)
      await again.end()
    }
    await server.end()
  })

  test('is not made from nothing, nor over a file, and leaves nothing behind then', async () => {
    const empty = await made(store)
    const folder = newFolder()
    const none = await runHere(['backup', '--to', join(folder, 'a.db'), '--database', empty.url])
    expect(none.code).toBe(1)
    expect(none.err).toMatch(/There is no |nothing to back up/)
    const { database } = await prepared(store)
    databases.push(database)
    writeFileSync(join(folder, 'mine.txt'), 'mine')
    const over = await runHere(['backup', '--to', join(folder, 'mine.txt'), '--database', database.url])
    expect([over.code, over.err]).toEqual([
      1,
      `${join(folder, 'mine.txt')} already exists: name another file.\n`,
    ])
    expect(readdirSync(folder)).toEqual(['mine.txt'])
  })

  test('removes the temporary files of those that were killed, once they are a day old', async () => {
    const { database } = await prepared(store)
    databases.push(database)
    const folder = newFolder()
    const [own, named] = ['mine.db.7.partial', 'takeback-2026-11-16T18-17-25-857Z.db.8.partial']
    const young = ['mine.db.9.partial', 'takeback-2026-11-16T18-17-25-857Z.db.10.partial']
    const old = [own, `${own}-journal`, named, 'other.db.7.partial']
    for (const name of [...old, ...young]) writeFileSync(join(folder, name), 'half of all data')
    const before = new Date(Date.now() - 25 * 3600_000)
    for (const name of old) utimesSync(join(folder, name), before, before)
    const file = join(folder, 'mine.db')
    expect((await runHere(['backup', '--to', file, '--database', database.url])).code).toBe(0)
    // Files with other names may belong to anybody.
    expect(readdirSync(folder).sort()).toEqual([...young, 'mine.db', 'other.db.7.partial'].sort())
  })

  test('is made although something of that name there cannot be removed', async () => {
    const { database } = await prepared(store)
    databases.push(database)
    const folder = newFolder()
    const stuck = join(folder, 'mine.db.7.partial')
    mkdirSync(stuck)
    const before = new Date(Date.now() - 25 * 3600_000)
    utimesSync(stuck, before, before)
    const made = await runHere(['backup', '--to', join(folder, 'mine.db'), '--database', database.url])
    expect([made.code, made.err]).toEqual([0, ''])
  })

  test('what cannot be written is told in one sentence, and nothing is left', async () => {
    const { database } = await prepared(store)
    databases.push(database)
    const folder = newFolder()
    const [file, sound] = [join(folder, 'file'), join(folder, 'sound.db')]
    writeFileSync(file, '')
    expect((await runHere(['backup', '--to', sound, '--database', database.url])).code).toBe(0)
    // A folder cannot be created below a file, and nothing at all in /proc.
    for (const place of [join(file, 'x.db'), '/proc/x.db'])
      for (const command of [
        ['backup', '--to', place, '--database', database.url],
        ['restore', sound, '--to', `sqlite:${place}`],
        ['copy', '--from', database.url, '--to', `sqlite:${place}`],
      ]) {
        const { code, err } = await run(command)
        expect([code, err]).toEqual([1, expect.stringMatching(/^[^\n]+ cannot be [^\n]+\.\n$/)])
        expect(err).toContain(place)
      }
    expect(readdirSync(folder).sort()).toEqual(['file', 'sound.db'])
  })

  test('restore overwrites nothing', async () => {
    const { database } = await prepared(store)
    databases.push(database)
    const file = join(newFolder(), 'a.db')
    expect((await runHere(['backup', '--to', file, '--database', database.url])).code).toBe(0)
    const contents = () =>
      database.query('SELECT key, value FROM takeback_meta ORDER BY key').then((rows) => JSON.stringify(rows))
    const before = await contents()
    const { code, err } = await runHere(['restore', file, '--to', database.url])
    expect(code).toBe(1)
    expect(err).toMatch(/already exists and is not overwritten|is not empty/)
    expect(await contents()).toBe(before)
  })

  test('a sealed secret needs its passphrase, and is in the file in no other form', async () => {
    const { database } = await prepared(store)
    databases.push(database)
    const folder = newFolder()
    const file = join(folder, 'sealed.db')
    writeFileSync(join(folder, 'passphrase'), `${PASSPHRASE}\n`)
    const sealing = ['--passphrase-file', join(folder, 'passphrase')]
    expect((await run(['backup', '--to', file, '--database', database.url, ...sealing])).code).toBe(0)
    const secret =
      store === 'sqlite'
        ? readFileSync(`${database.url.replace('sqlite:', '')}.secret`, 'utf8').trim()
        : String((await database.query(`SELECT value FROM takeback_meta WHERE key = 'secret'`))[0]?.value)
    expect(secret.length).toBeGreaterThan(30)
    expect(readFileSync(file).includes(secret)).toBe(false)
    const path = join(newFolder(), 'new.db')
    const to = ['--to', `sqlite:${path}`]
    expect((await run(['restore', file, ...to])).err).toContain('is sealed')
    const wrong = { env: { TAKEBACK_BACKUP_PASSPHRASE: `${PASSPHRASE}!` } }
    expect((await run(['restore', file, ...to], wrong)).err).toContain('does not open')
    expect(existsSync(path)).toBe(false)
    expect(
      (await run(['restore', file, ...to], { env: { TAKEBACK_BACKUP_PASSPHRASE: PASSPHRASE } })).code,
    ).toBe(0)
    expect(readFileSync(`${path}.secret`, 'utf8').trim()).toBe(secret)
    const bare = join(newFolder(), 'bare.db')
    expect((await runHere(['restore', file, '--to', `sqlite:${bare}`, '--without-secret'])).code).toBe(0)
    expect(existsSync(`${bare}.secret`)).toBe(false)
  })

  test('serve makes them by itself, one server of several at a time, and keeps as many as it is told', async () => {
    const { database, args } = await prepared(store)
    databases.push(database)
    const folder = newFolder()
    const flags = [
      ...args,
      '--log',
      'json',
      '--backup-every',
      '1s',
      '--backup-keep',
      '2',
      '--backup-to',
      folder,
    ]
    const servers = await Promise.all([serve(flags), serve(flags)])
    const said = () => servers.map((server) => server.said()).join('')
    await eventually(() => (said().match(/Removed the old backup/g) ?? []).length >= 2)
    for (const server of servers) expect(await server.end()).toBe(0)
    const log = said()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
    expect(log.filter(({ level }) => level === 'error')).toEqual([])
    const backups = log.filter(({ message }) => message.startsWith('Backed up to '))
    expect(backups.length).toBeGreaterThanOrEqual(4)
    expect(backups.every(({ bytes, rows }) => Number(bytes) > 4096 && Number(rows) > 0)).toBe(true)
    const left = readdirSync(folder)
    expect(left.filter((name) => name.includes('partial'))).toEqual([])
    expect(left.length).toBeGreaterThanOrEqual(2)
    expect(left.length).toBeLessThanOrEqual(3)
    for (const name of left)
      expect((await inspectBackup(join(folder, name))).record.lastChange).not.toBeNull()
  })

  test('copy beside a running server ends well, and says what it does not have', async () => {
    const { database, args } = await prepared(store)
    databases.push(database)
    const server = await serve(args)
    const { token } = await call(server.url, 'POST', 'auth/login', LOGIN)
    const writer = new Writer(server.url, token)
    await eventually(() => writer.acknowledged.length > 20)
    const before = writer.acknowledged.length
    const target = await made(store === 'sqlite' ? 'postgres' : 'sqlite')
    const { code, out } = await run(['copy', '--from', database.url, '--to', target.url])
    await writer.stop()
    await server.end()
    expect(code).toBe(0)
    const titles = await titlesIn(target)
    expect(titles.length).toBeGreaterThanOrEqual(before)
    expect(titles).toEqual(writer.acknowledged.slice(0, titles.length))
    if (titles.length < writer.acknowledged.length) expect(out).toContain('They are not in the copy')
    await expectAgreement(target)
  })
})

describe('a backup', () => {
  async function makeOne(): Promise<{ file: string; bytes: Buffer; url: string }> {
    const { database } = await prepared('sqlite')
    const file = join(newFolder(), 'a.db')
    await makeBackup(locationOf(database.url), file, { version: 'test' })
    return { file, bytes: readFileSync(file), url: database.url }
  }

  test('with any byte changed, cut off or added is refused, and nothing is restored', async () => {
    const { bytes } = await makeOne()
    const folder = newFolder()
    let n = 0
    const refused = async (damaged: Uint8Array) => {
      const file = join(folder, `${n++}.db`)
      writeFileSync(file, damaged)
      await inspectBackup(file).then(
        () => {
          throw new Error('it was taken')
        },
        (error: Error) =>
          expect(error.message).toMatch(/damaged|is not a backup|cannot be opened|newer Takeback/),
      )
      const found = await check(locationOf(`sqlite:${file}`)).then(({ findings }) => findings, String)
      expect([file, found.length]).not.toEqual([file, 0])
    }
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: bytes.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, by) => {
          const damaged = Buffer.from(bytes)
          damaged[at] = (damaged[at] ?? 0) ^ by
          await refused(damaged)
        },
      ),
      { numRuns: runs(60) },
    )
    // Everywhere the hash is named.
    for (let at = bytes.indexOf('backup hash'); at >= 0; at = bytes.indexOf('backup hash', at + 1)) {
      const damaged = Buffer.from(bytes)
      damaged[at] = 0x62 ^ 1
      await refused(damaged)
    }
    await refused(bytes.subarray(0, bytes.length - 1))
    await refused(bytes.subarray(0, bytes.length / 2))
    await refused(Buffer.concat([bytes, Buffer.from('x')]))
    await refused(Buffer.alloc(0))
  })

  test('is not served or changed by any command', async () => {
    const { file, bytes } = await makeOne()
    const location = ['--config', example, '--database', `sqlite:${file}`]
    for (const command of [
      ['serve', '--port', '0'],
      ['migrate', '--apply'],
      ['user', 'add', 'admins', 'b@example.com', '--password', LOGIN.password],
    ]) {
      const { code, err } = await run([...command, ...location])
      expect([command[0], code, err]).toEqual([
        command[0],
        1,
        `${file} is a backup and cannot be changed: create a database from it with "takeback restore".\n`,
      ])
    }
    const again = await runHere(['backup', '--to', `${file}.second`, ...location.slice(2)])
    expect([again.code, again.err]).toEqual([1, `${file} is a backup already: copy the file.\n`])
    expect(readFileSync(file).equals(bytes)).toBe(true)
    expect(existsSync(`${file}-wal`)).toBe(false)
  })

  test('that is new is never pushed out, and damaged or foreign files neither count nor go', async () => {
    const { url } = await makeOne()
    const folder = newFolder()
    const name = (n: number) => join(folder, `takeback-2027-05-0${n}T00-00-00-000Z.db`)
    for (const n of [1, 2, 3, 5]) await makeBackup(locationOf(url), name(n), { version: 'test' })
    writeFileSync(name(4), 'not a backup')
    writeFileSync(name(6), '')
    mkdirSync(join(folder, 'takeback-2027-05-07T00-00-00-000Z.db'))
    writeFileSync(join(folder, 'notes.txt'), '')
    const other = await makeOne()
    writeFileSync(name(8), other.bytes)
    // The clock was wrong: the newest backup has the smallest name.
    expect(await dropBackups(folder, 2, name(1))).toEqual([name(3), name(2)])
    expect(await dropBackups(folder, 1, name(1))).toEqual([name(5)])
    expect(readdirSync(folder).sort()).toEqual(
      [1, 4, 6, 7, 8]
        .map((n) => `takeback-2027-05-0${n}T00-00-00-000Z.db`)
        .concat('notes.txt')
        .sort(),
    )
  })

  test('is restored as the very same file, but for what made it a backup', async () => {
    const { file, url } = await makeOne()
    const path = join(newFolder(), 'new.db')
    await restoreBackup(file, locationOf(`sqlite:${path}`), undefined)
    const again = join(newFolder(), 'again.db')
    await makeBackup(locationOf(`sqlite:${path}`), again, { version: 'test' })
    const [first, second] = [await inspectBackup(file), await inspectBackup(again)]
    expect(second.record.rows).toEqual(first.record.rows)
    expect(second.record.lastChange).toEqual(first.record.lastChange)
    expect(second.types).toEqual(first.types)
    expect(first.record.from).toBe(url.replace('sqlite:', ''))
  })
})
