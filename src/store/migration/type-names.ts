import { TAKEN_LOGINS } from '../../declare/entity-names.ts'
import { droppedName, droppedReason } from '../dropped.ts'
import { aboutEntities, ownTables } from '../own.ts'
import type { OwnTable, TypeNaming } from '../own-table.ts'
import { id, intLiteral, param, quoted, type Sql, sql } from '../sql.ts'
import { CUT } from './metadata.ts'
import type { DatabaseSession } from './structure.ts'

/** The old and the new name of a type; without `to` the type was dropped. */
export interface NameChange {
  readonly from: string
  readonly to: string | undefined
}

/** Renames a type wherever Takeback's own tables name it. `to` must be free. */
export async function renameType(session: DatabaseSession, from: string, to: string): Promise<void> {
  for (const { name } of aboutEntities)
    await renameIn(session, { table: name, column: 'entity' }, { text: '*', at: 'whole' }, { from, to })
  for (const table of ownTables) await renameTexts(session, table, { from, to })
  for (const rename of Object.values(byHand)) await rename(session, { from, to })
  await session.run(sql`DELETE FROM "takeback_meta" WHERE "key" = ${quoted(CUT + to)}`)
  await session.run(
    sql`UPDATE "takeback_meta" SET "key" = ${quoted(CUT + to)} WHERE "key" = ${quoted(CUT + from)}`,
  )
}

/**
 * Renames a dropped type to `to`, which no type can be called, since another type may get the old name. Sets aside the
 * tasks that wait for it, so that somebody notices them.
 */
export async function retireType(
  session: DatabaseSession,
  { from, to, clock }: { from: string; to: string; clock: Sql },
): Promise<void> {
  await session.run(
    sql`UPDATE "takeback_tasks" SET "aside_at" = ${clock}, "next_at" = NULL, "holder" = NULL, "fence" = "fence" + 1, "error" = ${param('$reason')}
      WHERE "aside_at" IS NULL AND ${isThere(id('payload'), { text: '"entity":"*"', at: 'anywhere' }, from)}`,
    { $reason: droppedReason(from) },
  )
  for (const table of ownTables) await renameTexts(session, table, { from, to })
  for (const forget of Object.values(byHand)) await forget(session, { from, to: undefined })
}

async function renameTexts(
  session: DatabaseSession,
  table: OwnTable,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (const { name, names = [] } of table.columns) {
    if (names === 'by hand') continue
    for (const naming of names) {
      if (naming.users && [from, to].some((one) => TAKEN_LOGINS.includes(one))) continue
      const column = { table: table.name, column: name }
      // Rows with the new name belong to a type that an earlier version of Takeback dropped.
      if (table.key.includes(name))
        await session.run(sql`DELETE FROM ${id(table.name)} WHERE ${isThere(id(name), naming, to)}`)
      else await renameIn(session, column, naming, { from: to, to: droppedName(to, 0) })
      await renameIn(session, column, naming, { from, to })
    }
  }
}

async function renameIn(
  session: DatabaseSession,
  { table, column }: { table: string; column: string },
  naming: TypeNaming,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const [old, fresh] = [textOf(naming, from), textOf(naming, to)]
  const set: Sql = {
    whole: quoted(fresh),
    start: sql`${quoted(fresh)} || substr(${id(column)}, ${intLiteral(old.length + 1)})`,
    anywhere: sql`replace(${id(column)}, ${quoted(old)}, ${quoted(fresh)})`,
  }[naming.at]
  await session.run(
    sql`UPDATE ${id(table)} SET ${id(column)} = ${set} WHERE ${isThere(id(column), naming, from)}`,
  )
}

function textOf({ text }: TypeNaming, name: string): string {
  return text.replace('*', () => name)
}

function isThere(column: Sql, naming: TypeNaming, name: string): Sql {
  const text = textOf(naming, name)
  return {
    whole: sql`${column} = ${quoted(text)}`,
    start: sql`substr(${column}, 1, ${intLiteral(text.length)}) = ${quoted(text)}`,
    anywhere: sql`replace(${column}, ${quoted(text)}, '') <> ${column}`,
  }[naming.at]
}

/** The columns with `names: 'by hand'`, as `table.column`. */
export const byHand: Readonly<
  Record<string, (session: DatabaseSession, names: NameChange) => Promise<void>>
> = {
  'takeback_keys.can': rescopeKeys,
  'takeback_preferences.value': renamePreferences,
}

/**
 * Updates the types in the scopes of keys. A renamed type keeps its rights. A dropped type loses them: another type may
 * get its name.
 */
async function rescopeKeys(session: DatabaseSession, names: NameChange): Promise<void> {
  const rows = await session.all(
    sql`SELECT k."id", k."can" FROM "takeback_keys" k WHERE k."can" LIKE ${quoted(`%"${names.from}"%`)}`,
  )
  for (const [key, can] of rows) {
    const rights = renamedMembers(JSON.parse(String(can)), ['entities'], names)
    await session.run(
      sql`UPDATE "takeback_keys" SET "can" = ${param('$can')} WHERE "id" = ${param('$key', 'integer')}`,
      { $can: JSON.stringify(rights), $key: Number(key) },
    )
  }
}

/** The console's preferences by Entity type: views and columns of lists. */
const BY_TYPE = ['views', 'columns']

async function renamePreferences(session: DatabaseSession, names: NameChange): Promise<void> {
  const rows = await session.all(
    sql`SELECT p."entity", p."entity_id", p."value" FROM "takeback_preferences" p WHERE p."value" LIKE ${quoted(`%"${names.from}"%`)}`,
  )
  for (const [entity, user, value] of rows)
    await session.run(
      sql`UPDATE "takeback_preferences" SET "value" = ${param('$value')}
        WHERE "entity" = ${param('$entity')} AND "entity_id" = ${param('$user', 'integer')}`,
      {
        $value: JSON.stringify(renamedMembers(JSON.parse(String(value)), BY_TYPE, names)),
        $entity: String(entity),
        $user: Number(user),
      },
    )
}

/** Renames, or removes, the member `from` of these objects. */
function renamedMembers(
  value: Readonly<Record<string, unknown>>,
  objects: readonly string[],
  { from, to }: NameChange,
): object {
  const renamed = { ...value }
  for (const name of objects) {
    const object = value[name]
    if (typeof object !== 'object' || object === null || !Object.hasOwn(object, from)) continue
    const { [from]: held, ...others } = object as Readonly<Record<string, unknown>>
    renamed[name] = to === undefined ? others : { ...others, [to]: held }
  }
  return renamed
}
