import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readDatabase } from '../../src/config.ts'
import { openStore } from '../../src/store/open.ts'
import { sql } from '../../src/store/sql.ts'
import { newDatabase, onStoreByHand, type TestDatabase } from '../harness.ts'
import { newFolder } from '../process/process.ts'

const NAMES = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const
const SHOWN = `SELECT ${NAMES.map((name) => `current_setting('${name}')`).join(', ')}`
const LIMITS = { pool: 2, statementMs: 8000, connectMs: 5000 }

/** The places where an operator can set limits for our sessions. */
const PLACES = ['role', 'database', 'role in database', 'address', 'options'] as const

onStoreByHand('postgres', 'time limits that others have set', () => {
  let database: TestDatabase
  let name: string
  let role: string
  let url: URL
  beforeAll(async () => {
    database = await newDatabase('postgres', newFolder())
    name = new URL(database.url).pathname.slice(1)
    role = `${name}_role`
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited'`)
    await database.query(`ALTER DATABASE ${name} OWNER TO ${role}`)
    url = new URL(database.url)
    url.username = role
    url.password = 'limited'
  })
  afterAll(async () => {
    await database.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER`)
    await database.query(`DROP OWNED BY ${role}`)
    await database.query(`DROP ROLE ${role}`)
    await database.remove()
  })

  /** Runs with these settings in that place. Passes on the address to connect to. */
  async function withSettings(
    place: (typeof PLACES)[number],
    settings: Record<string, string>,
    work: (address: string) => Promise<void>,
  ): Promise<void> {
    const address = new URL(url)
    if (place === 'address')
      for (const [key, value] of Object.entries(settings)) address.searchParams.set(key, value)
    if (place === 'options')
      address.searchParams.set(
        'options',
        Object.entries(settings)
          .map(([key, value]) => `-c ${key}=${value}`)
          .join(' '),
      )
    const altered = {
      role: `ROLE ${role}`,
      database: `DATABASE ${name}`,
      'role in database': `ROLE ${role} IN DATABASE ${name}`,
      address: undefined,
      options: undefined,
    }[place]
    if (altered !== undefined)
      for (const [key, value] of Object.entries(settings))
        await database.query(`ALTER ${altered} SET ${key} = '${value}'`)
    try {
      await work(address.href)
    } finally {
      if (altered !== undefined) await database.query(`ALTER ${altered} RESET ALL`)
    }
  }

  /** Returns the limits in a plain session, in a migration and in a read of everything. */
  async function shownBy(address: string): Promise<Record<'session' | 'migration' | 'read', string[]>> {
    const store = await openStore(readDatabase(address, LIMITS))
    try {
      const session = (await store.read({ text: SHOWN, paramNames: [] }, {})).flat().map(String)
      const within = (mode: 'read' | 'change') =>
        store.structure.transact(mode, async (inside) =>
          (await inside.all(sql`${{ parts: [SHOWN] }}`)).flat().map(String),
        )
      return { session, migration: await within('change'), read: await within('read') }
    } finally {
      await store.close()
    }
  }

  test('ours hold where there are none', async () => {
    expect(await shownBy(url.href)).toEqual({
      session: ['8s', '0', '5s'],
      migration: ['0', '2s', '1min'],
      read: ['0', '0', '1min'],
    })
  })

  for (const place of PLACES) {
    test(`a stricter limit of the ${place} holds, in migrations too`, () =>
      withSettings(
        place,
        {
          statement_timeout: '3000',
          lock_timeout: '700',
          idle_in_transaction_session_timeout: '4000',
        },
        async (address) => {
          expect(await shownBy(address)).toEqual({
            session: ['3s', '700ms', '4s'],
            migration: ['3s', '700ms', '4s'],
            read: ['3s', '700ms', '4s'],
          })
        },
      ))

    test(`a looser limit of the ${place} gives way to ours where we have one`, () =>
      withSettings(
        place,
        { statement_timeout: '20000', lock_timeout: '3000', idle_in_transaction_session_timeout: '90000' },
        async (address) => {
          expect(await shownBy(address)).toEqual({
            session: ['8s', '3s', '5s'],
            migration: ['20s', '2s', '1min'],
            read: ['20s', '3s', '1min'],
          })
        },
      ))
  }
})
