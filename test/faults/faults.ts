// npm run test:faults: checks what happens to a server when its disk fails. Needs Linux, root, and ext4 on loop devices
// (`mkfs.ext4`, `dumpe2fs`, `losetup`, `fallocate`), and strace. TAKEBACK_TEST_RUNS is the number of rounds of each.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { example, LOGIN, login, newFolder, run, serve } from '../process/process.ts'
import { Disk } from './disk.ts'

const ROUNDS = Number(process.env.TAKEBACK_TEST_RUNS ?? 6)

let disk: Disk
let args: string[]
let file: string

beforeEach(async () => {
  disk = new Disk()
  file = join(disk.path, 'test.db')
  args = ['--config', example, '--database', `sqlite:${file}`, '--log', 'json']
  await run(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args.slice(0, 4)])
})

afterEach(() => disk.remove())

type Server = Awaited<ReturnType<typeof serve>>

/** Writes rooms, and records the titles that were acknowledged. */
class Writes {
  readonly acknowledged = new Set<string>()
  #serial = 0
  #cut = false

  /** After a real power cut nobody would be answered, so later answers do not count. */
  cutPower(): void {
    this.#cut = true
    disk.cutPower()
  }

  restorePower(): void {
    disk.unmount()
    disk.mount()
    this.#cut = false
  }

  /** Writes until told to stop, or until the server answers with anything but 201. */
  async run(server: Server, until: () => boolean): Promise<void> {
    const headers = await login(server.url)
    await Promise.all(Array.from({ length: 4 }, () => this.#client(server.url, headers, until)))
  }

  async #client(url: string, headers: Record<string, string>, until: () => boolean): Promise<void> {
    while (!until()) {
      const title = `room ${++this.#serial} ${'x'.repeat(60)}`
      try {
        const body = JSON.stringify({ title, beds: 1 })
        const { status } = await fetch(`${url}/api/rooms/`, { method: 'POST', headers, body })
        if (status !== 201) return
        if (this.#cut) return
        this.acknowledged.add(title)
      } catch {
        return
      }
    }
  }

  /** Returns the acknowledged titles that are lost. */
  lost(): string[] {
    const database = new Database(file)
    const rows = database.query('SELECT "title" FROM "rooms"').values()
    const sound = database.query('PRAGMA integrity_check').values()[0]?.[0]
    database.close()
    expect(sound).toBe('ok')
    const there = new Set(rows.map(([title]) => String(title)))
    return [...this.acknowledged].filter((title) => !there.has(title))
  }
}

test('power cuts: nothing that was acknowledged is lost, and every start succeeds', async () => {
  const writes = new Writes()
  for (let round = 0; round < ROUNDS; round++) {
    const server = await serve(args, { direct: true })
    const writing = writes.run(server, () => false)
    await Bun.sleep(200 + Math.random() * 500)
    writes.cutPower()
    await writing
    await server.end('SIGKILL')
    writes.restorePower()
  }
  const server = await serve(args, { direct: true })
  expect(await server.end()).toBe(0)
  expect(writes.acknowledged.size).toBeGreaterThan(ROUNDS * 10)
  expect(writes.lost()).toEqual([])
}, 600_000)

test('the system could not write: after the next start, a power cut loses nothing that was acknowledged', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const writes = new Writes()
    const first = await serve(args, { direct: true })
    await writes.run(first, () => writes.acknowledged.size >= 20)
    disk.failNewBlocks()
    await writes.run(first, () => false)
    expect(await first.child.exited).toBe(1)
    disk.heal()
    const second = await serve(args, { direct: true })
    const goal = writes.acknowledged.size + 20
    await writes.run(second, () => writes.acknowledged.size >= goal)
    expect(writes.acknowledged.size).toBeGreaterThanOrEqual(goal)
    writes.cutPower()
    await second.end('SIGKILL')
    writes.restorePower()
    const third = await serve(args, { direct: true })
    expect(await third.end()).toBe(0)
    expect(writes.lost()).toEqual([])
    disk.remove()
    disk = new Disk()
    file = join(disk.path, 'test.db')
    args = ['--config', example, '--database', `sqlite:${file}`, '--log', 'json']
    await run(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args.slice(0, 4)])
  }
}, 600_000)

test('after a sync that has failed, nothing more is written to the database or synced', async () => {
  const trace = join(newFolder(), 'trace')
  const inject = 'inject=fsync,fdatasync:error=EIO:when=40+'
  const strace = `strace -f -y -o ${trace} -e trace=fsync,fdatasync,pwrite64,unlink,ftruncate -e ${inject} "$@"; exit $?; true`
  const server = await serve(args, { direct: true, shell: strace })
  await new Writes().run(server, () => false)
  expect(await server.child.exited).toBe(1)
  const lines = readFileSync(trace, 'utf8').split('\n')
  const failed = lines.findIndex((line) => line.includes('EIO') && line.includes('test.db'))
  expect(failed).toBeGreaterThan(0)
  const after = lines.slice(failed + 1).filter((line) => /test\.db(-wal)?[>"]/.test(line))
  expect(after).toEqual([])
})
