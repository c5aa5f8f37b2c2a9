import { StartError } from '../../errors.ts'
import { isIntact } from '../backup/fingerprint.ts'
import { readHash, readRecord } from '../backup/record.ts'
import type { Location } from '../location.ts'
import { readMetadata } from '../migration/metadata.ts'
import type { DatabaseSession, Structure } from '../migration/structure.ts'
import { openStore } from '../open.ts'
import { FORMAT } from '../own.ts'
import { sql } from '../sql.ts'
import { openReadOnly } from '../sqlite/backup.ts'
import { checkEntities, checkJournal, checkTypes } from './entities.ts'
import type { Checked, Finding } from './finding.ts'
import { checkAbout, checkAnswers, checkOwnTypes } from './own-tables.ts'
import { checkLinkTables, checkReferences } from './references.ts'

export interface CheckResult {
  readonly types: number
  readonly findings: readonly Finding[]
}

/** Compares all tables with the journal and with each other, in one state of the database. Changes nothing. */
export async function check(location: Location): Promise<CheckResult> {
  if (location.kind === 'sqlite') {
    const { structure, isBackup, close } = openReadOnly(location.path)
    try {
      return await structure.transact('read', async (session) => {
        const checked = await checkAll(structure, session)
        const findings = [...(await checkBytes(location.path, session, isBackup)), ...checked.findings]
        return { ...checked, findings }
      })
    } finally {
      close()
    }
  }
  const store = await openStore(location)
  try {
    return await store.structure.transact('read', (session) => checkAll(store.structure, session))
  } finally {
    await store.close()
  }
}

/** Checks the bytes of a file. A backup has a hash, which also covers bytes that belong to no row. */
async function checkBytes(file: string, session: DatabaseSession, isBackup: boolean): Promise<Finding[]> {
  if (!isBackup && (await readRecord(session)) === undefined) return []
  if (isIntact(file, await readHash(session))) return []
  return [
    { kind: 'database', where: 'the backup', what: 'has changed since it was made: restore refuses it' },
  ]
}

async function checkAll(structure: Structure, session: DatabaseSession): Promise<CheckResult> {
  const metadata = await readMetadata(structure, session)
  if (metadata === undefined) throw new StartError(`There is nothing to check in ${structure.place}.`)
  if (metadata.format !== FORMAT)
    throw new StartError(
      `The database ${structure.place} is of an older format: start the server on it once, or run "takeback migrate --apply", then check it.`,
    )
  const held = new Set((await session.all(structure.ddl.tables)).map(([name]) => String(name)))
  const missing = metadata.tables.filter(({ name }) => !held.has(name))
  const checked: Checked = {
    structure,
    session,
    metadata: { ...metadata, tables: metadata.tables.filter(({ name }) => held.has(name)) },
  }
  const purges = await underWay(session)
  const parts: [where: string, run: () => Promise<Finding[]>][] = [
    ['the database', async () => (await structure.inspect(session, checked.metadata.tables)).map(asFinding)],
    ['takeback_journal', () => checkTypes({ ...checked, metadata })],
    ['takeback_shown', () => checkAnswers(checked)],
    ["Takeback's own tables", () => checkOwnTypes({ ...checked, metadata })],
    ...checked.metadata.tables.flatMap((table): [string, () => Promise<Finding[]>][] => [
      [table.name, () => checkEntities(checked, table, purges)],
      [table.name, () => checkJournal(checked, table)],
      [table.name, () => checkLinkTables(checked, table)],
      [table.name, () => checkReferences(checked, table)],
      [table.name, () => checkAbout(checked, table)],
    ]),
  ]
  const findings = missing.map(
    ({ name }): Finding => ({ kind: 'database', where: name, what: 'has no table any more' }),
  )
  for (const [where, run] of parts)
    findings.push(...(await run().catch((error) => [unreadable(where, error)])))
  return { types: metadata.tables.length, findings }
}

async function underWay(session: DatabaseSession): Promise<ReadonlySet<string>> {
  return new Set(
    (await session.all(sql`SELECT "purge" FROM "takeback_purges"`)).map(([purge]) => String(purge)),
  )
}

function asFinding([where, what]: readonly [string, string]): Finding {
  return { kind: 'database', where, what }
}

/** Data that cannot be read is also a finding. */
function unreadable(where: string, error: unknown): Finding {
  return {
    kind: 'database',
    where,
    what: `cannot be read: ${error instanceof Error ? error.message : error}`,
  }
}
