import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { inspectFiles } from '../../src/store/sqlite/files.ts'
import { markFile, readMark } from '../../src/store/sqlite/mark.ts'
import { runs } from '../harness.ts'
import { login, prepared, run, serve } from './process.ts'

const RUNS = runs(80)
const WAL_HEADER = 32
const FRAME = 24 + 4096

/** A database whose server was killed, with a log of many commits. */
interface Killed {
  readonly file: string
  readonly args: string[]
  /** The number of acknowledged rows. */
  readonly rows: number
  readonly log: Buffer
}

let killed: Killed

beforeAll(async () => {
  const { database, args } = await prepared('sqlite')
  const file = database.url.replace(/^sqlite:/, '')
  const server = await serve([...args, '--log', 'json'], { direct: true })
  const headers = await login(server.url)
  const commits = 40
  for (let at = 0; at < commits; at++) {
    const rooms = Array.from({ length: 5 }, (_, n) => ({ title: `room ${at} ${n}`, beds: 1 }))
    const body = JSON.stringify(rooms)
    const response = await fetch(`${server.url}/api/rooms/`, { method: 'POST', headers, body })
    expect(response.status).toBe(201)
  }
  await server.end('SIGKILL')
  killed = { file, args, rows: commits * 5, log: readFileSync(`${file}-wal`) }
})

afterAll(() => rmSync(dirname(killed.file), { recursive: true, force: true }))

/** Copies all files, to damage the copies. */
function copyOf({ file }: Killed): string {
  const copy = join(mkdtempSync(join(dirname(file), 'copy-')), 'test.db')
  for (const end of ['', '-wal', '.mark', '.secret'])
    if (existsSync(file + end)) copyFileSync(file + end, copy + end)
  return copy
}

function isRefused(file: string): boolean {
  try {
    inspectFiles(file)
    return false
  } catch {
    return true
  }
}

/** Returns how many rows SQLite reads. */
function rowsIn(file: string): number {
  const database = new Database(file)
  try {
    return Number(database.query('SELECT count(*) FROM rooms').values()[0]?.[0])
  } catch {
    return 0
  } finally {
    database.close()
  }
}

const damages = fc.oneof(
  fc.record({ kind: fc.constant('flip' as const), at: fc.nat(), length: fc.integer({ min: 1, max: 5000 }) }),
  fc.record({
    kind: fc.constant('zero' as const),
    at: fc.nat(),
    length: fc.integer({ min: 1, max: 20_000 }),
  }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), length: fc.constant(0) }),
  fc.record({ kind: fc.constant('cut at a frame' as const), at: fc.nat(), length: fc.constant(0) }),
  fc.record({ kind: fc.constant('header' as const), at: fc.nat(WAL_HEADER - 1), length: fc.constant(1) }),
  fc.record({ kind: fc.constant('gone' as const), at: fc.constant(0), length: fc.constant(0) }),
)

function damage(log: Buffer, { kind, at, length }: { kind: string; at: number; length: number }): Buffer {
  const bytes = Buffer.from(log)
  const start = at % bytes.length
  if (kind === 'cut') return bytes.subarray(0, start)
  if (kind === 'cut at a frame')
    return bytes.subarray(0, WAL_HEADER + FRAME * Math.floor(Math.max(0, start - WAL_HEADER) / FRAME))
  const touched = bytes.subarray(start, start + length)
  if (kind === 'zero') touched.fill(0)
  else for (const [place, byte] of touched.entries()) touched[place] = byte ^ 0xff
  return bytes
}

describe('a write-ahead log that is not what it was', () => {
  test('whatever happens to it: what is not refused has every acknowledged row, and nothing is touched', () => {
    let refused = 0
    fc.assert(
      fc.property(damages, (how) => {
        const copy = copyOf(killed)
        const log = damage(killed.log, how)
        if (how.kind === 'gone') rmSync(`${copy}-wal`)
        else writeFileSync(`${copy}-wal`, log)
        const before = readFileSync(copy)
        const isNo = isRefused(copy)
        expect(readFileSync(copy).equals(before)).toBe(true)
        expect(existsSync(`${copy}-wal`)).toBe(how.kind !== 'gone')
        if (how.kind !== 'gone') expect(readFileSync(`${copy}-wal`).equals(log)).toBe(true)
        if (isNo) refused++
        else expect(rowsIn(copy)).toBe(killed.rows)
        rmSync(dirname(copy), { recursive: true })
      }),
      { numRuns: RUNS },
    )
    // Some damage hits unused space, so not all copies are refused.
    expect(refused).toBeGreaterThan(0)
  })

  test('the log alone shows damage that has commits behind it, where the mark is from long ago', () => {
    const frames = (killed.log.length - WAL_HEADER) / FRAME
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 5000 }), (at, length) => {
        const copy = copyOf(killed)
        writeFileSync(markFile(copy), '{"state":"open","seq":1}\n')
        // At least two commits before the end: a batch is one commit of a few frames.
        const start = at % (Math.floor(frames / 2) * FRAME)
        const log = damage(killed.log, { kind: 'flip', at: start, length: Math.min(length, FRAME) })
        writeFileSync(`${copy}-wal`, log)
        expect(isRefused(copy)).toBe(true)
        rmSync(dirname(copy), { recursive: true })
      }),
      { numRuns: RUNS },
    )
  })

  test('a transaction that was never acknowledged may be there in part: it starts, with all that was', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (seed, at, length) => {
        const copy = copyOf(killed)
        const torn = tornTransaction(copy, seed)
        const bytes = Buffer.from(torn)
        // Any part of what was written last may be missing, in any order.
        const start = killed.log.length + (at % (bytes.length - killed.log.length))
        bytes.fill(0, start, start + 1 + (length % (bytes.length - start)))
        writeFileSync(`${copy}-wal`, bytes)
        inspectFiles(copy)
        expect(rowsIn(copy)).toBe(killed.rows)
        rmSync(dirname(copy), { recursive: true })
      }),
      { numRuns: RUNS },
    )
  })

  test('the command says how much is missing and what to do, and touches nothing', async () => {
    const copy = copyOf(killed)
    const middle = WAL_HEADER + FRAME * Math.floor(killed.log.length / FRAME / 2)
    const bytes = damage(killed.log, { kind: 'flip', at: middle + 100, length: 100 })
    for (const log of [bytes, bytes.subarray(0, middle), undefined]) {
      if (log === undefined) rmSync(`${copy}-wal`)
      else writeFileSync(`${copy}-wal`, log)
      const before = readFileSync(copy)
      const args = ['--config', killed.args[1] ?? '', '--database', `sqlite:${copy}`]
      const { code, err } = await run(['serve', '--port', '0', ...args], { direct: true })
      expect([code, err]).toEqual([1, expect.stringMatching(/\d+ changes are missing.*Nothing was touched/)])
      expect(readFileSync(copy).equals(before)).toBe(true)
      expect(existsSync(`${copy}-wal`)).toBe(log !== undefined)
      if (log !== undefined) expect(readFileSync(`${copy}-wal`).equals(log)).toBe(true)
    }
  })

  test('a database that is gone while its mark is there is refused, too', () => {
    const copy = copyOf(killed)
    rmSync(copy)
    expect(() => inspectFiles(copy)).toThrow('are missing')
    expect([existsSync(copy), readFileSync(`${copy}-wal`).equals(killed.log)]).toEqual([false, true])
    truncateSync(`${copy}-wal`, 0)
    expect(() => inspectFiles(copy)).toThrow('are missing')
    rmSync(markFile(copy))
    inspectFiles(copy)
  })
})

test('after a stop that was asked for, the files may be exchanged', async () => {
  const copy = copyOf(killed)
  const args = ['--config', killed.args[1] ?? '', '--database', `sqlite:${copy}`]
  const server = await serve([...args, '--log', 'json'], { direct: true })
  expect(await server.end()).toBe(0)
  expect(readMark(copy)?.state).toBe('closed')
  const { database } = await prepared('sqlite')
  copyFileSync(database.url.replace(/^sqlite:/, ''), copy)
  const other = await serve([...args, '--log', 'json'], { direct: true })
  expect(await other.end()).toBe(0)
  await database.remove()
})

test('while another process writes, reads and health go on, and writes wait for it', async () => {
  const copy = copyOf(killed)
  const args = ['--config', killed.args[1] ?? '', '--database', `sqlite:${copy}`]
  const server = await serve([...args, '--log', 'json'], { direct: true })
  const headers = await login(server.url)
  const post = (title: string) =>
    fetch(`${server.url}/api/rooms/`, { method: 'POST', headers, body: JSON.stringify({ title, beds: 1 }) })
  const other = new Database(copy)
  other.run('BEGIN IMMEDIATE')
  const writes = ['a', 'b', 'c'].map(post).map(async (sent) => (await sent).status)
  for (let at = 0; at < 30; at++)
    for (const path of ['/api/health', '/api/rooms/1/', '/api/rooms/?limit=3'])
      expect((await fetch(server.url + path, { headers })).status).toBe(200)
  expect(await Promise.race([...writes, 'waiting'])).toBe('waiting')
  other.run('COMMIT')
  expect(await Promise.all(writes)).toEqual([201, 201, 201])
  // A request that waits too long is refused, and nothing is written for it later.
  other.run('BEGIN IMMEDIATE')
  const late = await post('late')
  expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1'])
  other.run('COMMIT')
  other.close()
  expect(await server.end()).toBe(0)
  expect(rowsIn(copy)).toBe(killed.rows + 3)
})

test('a failed write ends the server, and nothing is written to the database after it', async () => {
  const copy = copyOf(killed)
  const args = ['--config', killed.args[1] ?? '', '--database', `sqlite:${copy}`, '--log', 'json']
  // The largest size of a file, in blocks of 512 bytes.
  const blocks = Math.ceil(killed.log.length / 512) + 200
  const server = await serve(args, { direct: true, shell: `trap '' XFSZ; ulimit -f ${blocks}` })
  const headers = await login(server.url)
  const before = readFileSync(copy)
  let [acknowledged, refused] = [killed.rows, 0]
  while (refused === 0) {
    const body = JSON.stringify({ title: `${acknowledged} ${'x'.repeat(100)}`, beds: 1 })
    const { status } = await fetch(`${server.url}/api/rooms/`, { method: 'POST', headers, body })
    if (status === 201) acknowledged++
    else refused = status
  }
  expect(refused).toBe(503)
  expect(await server.child.exited).toBe(1)
  expect(readFileSync(copy).equals(before)).toBe(true)
  expect(readMark(copy)?.state).toBe('lost')
  const again = await serve(args, { direct: true })
  expect(await again.end()).toBe(0)
  expect(readMark(copy)?.state).toBe('closed')
  expect(rowsIn(copy)).toBe(acknowledged)
})

/** Returns the log with one more transaction of many frames, which was never acknowledged. */
function tornTransaction(copy: string, seed: number): Buffer {
  const database = new Database(copy)
  database.run('PRAGMA wal_autocheckpoint = 0')
  database.run('BEGIN')
  database.run('CREATE TABLE other (a)')
  for (let at = 0; at < 3 + (seed % 20); at++)
    database.run('INSERT INTO other VALUES (?)', [String(seed).repeat(900).slice(0, 3000)])
  database.run('COMMIT')
  const log = readFileSync(`${copy}-wal`)
  database.close()
  copyFileSync(killed.file, copy)
  return log
}
