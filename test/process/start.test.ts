import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { eventually, newDatabase, onEveryStoreByHand, type TestDatabase } from '../harness.ts'
import { freePort } from '../ports.ts'
import { newFolder, run, serve, takeback } from './process.ts'

const declared = (fields: string) => `import { app, entity, integer, text } from 'takeback'
export default app({ entities: { things: entity({ fields: { ${fields} } }) } })
`

onEveryStoreByHand('a start', (store) => {
  /** Makes a database, and flags for each declaration. */
  async function prepared(...declarations: string[]) {
    const folder = newFolder()
    const database = await newDatabase(store, folder)
    const flags = declarations.map((fields, at) => {
      const file = join(folder, `${at}.config.ts`)
      writeFileSync(file, declared(fields))
      return ['--config', file, '--database', database.url]
    })
    const flagsOf = (at: number) => flags[at] ?? []
    return { database, flagsOf, migrate: (at: number) => run(['migrate', '--apply', ...flagsOf(at)]) }
  }

  test('that fails for whatever reason leaves the database as it was', async () => {
    const { database, flagsOf, migrate } = await prepared(
      'a: text()',
      'a: text(), b: integer({ default: 1 })',
    )
    expect((await migrate(0)).code).toBe(0)
    const before = await memoryOf(database)
    const holder = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') })
    for (const [flags, sentence] of [
      [['--port', String(holder.port)], `Port ${holder.port} on 127.0.0.1 is taken`],
      [['--host', '192.0.2.1', '--port', '0'], '192.0.2.1:0 cannot be used to listen'],
    ] as const) {
      const { code, err } = await run(['serve', ...flagsOf(1), ...flags])
      expect([code, err]).toEqual([1, expect.stringContaining(sentence) as unknown as string])
      expect(await memoryOf(database)).toEqual(before)
    }
    await holder.stop(true)
    await database.remove()
  })

  test('binds first, and answers 503 until the database is ready', async () => {
    const { database, flagsOf, migrate } = await prepared(
      'a: text()',
      'a: text(), b: integer({ default: 1 })',
    )
    expect((await migrate(0)).code).toBe(0)
    const release = await lockMeta(database)
    const port = freePort()
    const child = takeback(['serve', ...flagsOf(1), '--port', String(port), '--log', 'json'], {
      direct: true,
    })
    const ask = async () => {
      const headers = { Accept: 'application/json' }
      const answer = await fetch(`http://127.0.0.1:${port}/api/health`, { headers }).catch(() => undefined)
      return answer === undefined
        ? undefined
        : { answer, body: (await answer.json()) as { code: string; request_id: string } }
    }
    // SQLite runs synchronously: while it waits for the lock, the server answers nobody.
    if (store === 'postgres') {
      await eventually(async () => (await ask()) !== undefined)
      const { answer, body } = (await ask()) ?? {}
      expect([answer?.status, body?.code]).toEqual([503, 'starting'])
      expect(answer?.headers.get('Retry-After')).toBe('1')
      expect(answer?.headers.get('Request-Id')).toBe(body?.request_id ?? '')
      expect(answer?.headers.get('X-Content-Type-Options')).toBe('nosniff')
    }
    await release()
    await eventually(async () => (await ask())?.answer.status === 200)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    await database.remove()
  })

  test('does what "takeback migrate" has said', async () => {
    const { database, flagsOf, migrate } = await prepared(
      'a: text()',
      'a: text(), b: integer({ default: 1 })',
      'a: integer()',
    )
    for (const at of [0, 1]) expect((await migrate(at)).code).toBe(0)
    for (const [at, refused] of [
      [0, 'This declaration is older than'],
      [1, undefined],
      [2, 'things.a holds values of the type text'],
    ] as const) {
      const plan = await run(['migrate', ...flagsOf(at)])
      const json = await run(['migrate', '--json', ...flagsOf(at)])
      expect([plan.code, json.code]).toEqual(refused === undefined ? [0, 0] : [1, 1])
      expect(JSON.parse(json.out).older).toBe(at === 0)
      if (refused === undefined) {
        expect(plan.out).toContain('The database is up to date.')
        const server = await serve(flagsOf(at))
        expect(await server.end()).toBe(0)
        continue
      }
      const start = await run(['serve', '--port', '0', ...flagsOf(at)])
      expect([start.code, start.err]).toEqual([1, expect.stringContaining(refused) as unknown as string])
      expect(plan.out + plan.err).toContain(refused)
      // Exactly what the server says, if it is one sentence.
      if (at === 0) expect(plan.err).toBe(start.err)
    }
    await database.remove()
  })
})

test('a start that fails makes no file', async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'takeback.config.ts'), declared('a: text()'))
  const holder = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') })
  expect((await run(['serve', '--port', String(holder.port)], { cwd: folder })).code).toBe(1)
  expect(readdirSync(folder)).toEqual(['takeback.config.ts'])
  await holder.stop(true)
})

test('a secret that cannot be used is found before anything is changed', async () => {
  const folder = newFolder()
  const config = join(folder, 'takeback.config.ts')
  const file = join(folder, 'data', 'takeback.db')
  const columns = () => {
    const database = new Database(file, { readonly: true })
    const { length } = database.query('PRAGMA table_info(things)').all()
    database.close()
    return length
  }
  writeFileSync(config, declared('a: text()'))
  const first = await serve([], { cwd: folder })
  expect(await first.end()).toBe(0)
  const before = columns()
  writeFileSync(config, declared('a: text(), b: integer({ default: 1 })'))
  writeFileSync(`${file}.secret`, 'short')
  const { code, err } = await run(['serve', '--port', '0'], { cwd: folder })
  expect([code, err]).toEqual([
    1,
    expect.stringContaining('must have at least 32 bytes') as unknown as string,
  ])
  expect(columns()).toBe(before)
  expect(existsSync(file) && statSync(file).size > 0).toBe(true)
})

/** Returns what the database stores about its own structure. */
async function memoryOf(database: TestDatabase): Promise<unknown> {
  return [await database.query('SELECT * FROM takeback_meta ORDER BY 1'), await columnsOf(database)]
}

async function columnsOf(database: TestDatabase): Promise<unknown> {
  const statement = database.url.startsWith('sqlite:')
    ? "SELECT name FROM pragma_table_info('things') ORDER BY 1"
    : "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'things' ORDER BY 1"
  return database.query(statement)
}

/** Holds a lock that a migration needs. Returns a function that releases it. */
async function lockMeta({ url }: TestDatabase): Promise<() => Promise<void>> {
  if (url.startsWith('sqlite:')) {
    const database = new Database(url.slice('sqlite:'.length))
    database.run('BEGIN IMMEDIATE')
    return async () => {
      database.run('ROLLBACK')
      database.close()
    }
  }
  const sql = new SQL(url, { max: 1 })
  await sql.unsafe('BEGIN')
  await sql.unsafe('LOCK TABLE takeback_meta IN ACCESS EXCLUSIVE MODE')
  return async () => {
    await sql.unsafe('ROLLBACK')
    await sql.close()
  }
}
