// Takeback without the journal: creates of bookings answer with the same JSON, and write no journal row. Started by
// run.ts: bun bench/without-journal.ts <database>
import { join } from 'node:path'
import { loadModel, startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { logOf } from '../src/observe/log.ts'
import { Observer } from '../src/observe/observer.ts'
import { bodyColumns } from '../src/plan/tables/columns.ts'
import { renderEntity } from '../src/plan/tables/render.ts'
import { system } from '../src/plan/viewer/actor.ts'
import { insertSql } from '../src/plan/write/insert.ts'
import { type Sql, sql } from '../src/store/sql.ts'
import { step } from '../src/store/step.ts'

const config = readConfig(
  { database: process.argv[2] ?? '', host: '127.0.0.1', port: '0', log: 'json' },
  process.env,
)
const observer = new Observer()
const log = logOf(observer, 'json')
const running = await startApp(config, await loadModel(join(import.meta.dir, 'takeback.config.ts')), observer)
const { dialect } = running.context.store
const plan = running.context.plans.get('bookings')
if (plan === undefined) throw new Error('There are no bookings.')
const { type } = plan
const { writes } = plan.view(system)
const json = renderEntity(type, dialect)
const read = (source: Sql) => sql`SELECT t."id", t."version", ${json} FROM ${source}`
const nothing = { inOne: read, read, write: sql`SELECT 1`, kept: [] }
const create = dialect
  .journalled(insertSql(type, bodyColumns(type.fields), dialect, []), type.name, 'last', nothing)
  .map(({ source, ...more }) => ({ ...step(dialect, 'change', 'some', source), ...more }))
Object.assign(writes, { create: () => create })
process.on('SIGTERM', async () => {
  await running.close()
  process.exit(0)
})
log.print(`ready at ${running.url}`)
