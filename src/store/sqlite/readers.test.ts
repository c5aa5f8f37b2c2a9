import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../errors.ts'
import { meaningOf } from './errors.ts'
import { Readers } from './readers.ts'

/** Counts up to its parameter: a billion takes far longer than any test. */
const COUNT = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT count(*) FROM n`
const FOR_EVER = 1_000_000_000

let folder: string
let path: string
let database: Database
let readers: Readers
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'takeback-readers-'))
  path = join(folder, 'test.db')
  database = new Database(path, { create: true })
  database.run('PRAGMA journal_mode = WAL')
  database.run('CREATE TABLE "things" ("id" INTEGER PRIMARY KEY, "name" TEXT)')
})
afterEach(() => {
  readers.close()
  database.close()
  rmSync(folder, { recursive: true, force: true })
})

async function failureOf(read: Promise<unknown>): Promise<unknown> {
  const error = await read.then(
    () => undefined,
    (thrown) => thrown,
  )
  return error instanceof Failure ? [error.code, error.headers['Retry-After']] : error
}

const unavailable = ['unavailable', '1']

test('give back all that can be bound', async () => {
  readers = new Readers(path, 60_000)
  const values = ['a "text" ü 𝄞', 7, -0.5, null, Number.MAX_SAFE_INTEGER]
  const { rows, ms } = await readers.read('SELECT ?1, ?2, ?3, ?4, ?5', values)
  expect(rows).toEqual([values])
  expect(ms).toBeGreaterThan(0)
})

test('see what was committed just before', async () => {
  readers = new Readers(path, 60_000, { most: 2 })
  for (let at = 1; at <= 100; at++) {
    database.run('INSERT INTO "things" ("name") VALUES (?1)', [`thing ${at}`])
    const [both] = await Promise.all([1, 2].map(() => readers.read('SELECT count(*) FROM "things"', [])))
    expect(both?.rows).toEqual([[at]])
  }
})

test('cannot write', async () => {
  readers = new Readers(path, 60_000)
  expect(await failureOf(readers.read('DELETE FROM "things" RETURNING "id"', []))).toMatchObject({
    code: 'SQLITE_READONLY',
  })
})

test('one statement takes no other with it when it takes too long', async () => {
  readers = new Readers(path, 2000, { most: 2 })
  const late = [1, 2].map(() => failureOf(readers.read(COUNT, [FOR_EVER])))
  const waited = failureOf(readers.read(COUNT, [1000]))
  expect(await Promise.all(late)).toEqual([unavailable, unavailable])
  // Callers that waited longer than a statement may take get the same answer; new ones do not.
  expect([undefined, unavailable] as unknown[]).toContainEqual(await waited)
  expect((await readers.read(COUNT, [1000])).rows).toEqual([[1000]])
})

test('only so many wait', async () => {
  readers = new Readers(path, 60_000, { most: 1, queue: 2 })
  const running = failureOf(readers.read(COUNT, [FOR_EVER]))
  const waiting = [1, 2].map(() => failureOf(readers.read(COUNT, [1])))
  expect(await failureOf(readers.read(COUNT, [1]))).toEqual(unavailable)
  readers.close()
  expect(await Promise.all([running, ...waiting])).toEqual([unavailable, unavailable, unavailable])
})

test('start with the first read, end when there is nothing to do, and start again', async () => {
  readers = new Readers(path, 60_000, { idleMs: 40 })
  expect(await children()).toEqual([])
  for (let round = 0; round < 3; round++) {
    expect((await readers.read('SELECT 1', [])).rows).toEqual([[1]])
    while ((await children()).length > 0) await Bun.sleep(10)
  }
})

/** Processes that read this very file. */
async function children(): Promise<number[]> {
  const listed = await Bun.$`ps -eo pid=,ppid=,args=`.text()
  return listed
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words[1] === String(process.pid) && words.includes(path))
    .map(([pid]) => Number(pid))
}

test('nobody reads while something is done in quiet, and whoever comes meanwhile is answered then', async () => {
  readers = new Readers(path, 60_000, { most: 2 })
  database.run('PRAGMA wal_autocheckpoint = 0')
  let going = true
  const read = async () => {
    while (going) await readers.read(COUNT, [20_000])
  }
  const clients = Array.from({ length: 4 }, read)
  for (let round = 0; round < 5; round++) {
    database.run(`INSERT INTO "things" ("name") VALUES ('x')`)
    const truncated = await readers.whileQuiet(
      () => database.query('PRAGMA wal_checkpoint(TRUNCATE)').values()[0],
    )
    expect(truncated).toEqual([0, 0, 0])
  }
  going = false
  await Promise.all(clients)
})

test('say what they met in the words of the database', async () => {
  database.run('INSERT INTO "things" ("name") VALUES (hex(randomblob(1000)))')
  for (let at = 0; at < 6; at++) database.run('INSERT INTO "things" ("name") SELECT "name" FROM "things"')
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const pages = Buffer.alloc(4096 * 20, 0xff)
  const file = Bun.file(path)
  const bytes = Buffer.from(await file.arrayBuffer())
  pages.copy(bytes, 4096 * 3)
  await Bun.write(file, bytes)
  readers = new Readers(path, 60_000)
  const error = await failureOf(readers.read('SELECT sum(length("name")) FROM "things"', []))
  expect(meaningOf(error)).toMatchObject({ kind: 'damaged' })
  const unknown = await failureOf(readers.read('SELECT "none" FROM "nothing"', []))
  expect(meaningOf(unknown)).toEqual({ kind: 'unknown' })
})
