import { Query } from '../src/api/query.ts'
import { listEntities, listPage } from '../src/api/read/list.ts'
import { readEntity, readOne } from '../src/api/read/read.ts'
import { loadModel, openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { Actor } from '../src/plan/viewer/actor.ts'
import { type RecordedStatement, recordStatements, scansIn, valuesOf } from '../test/plans.ts'
import { rootOf } from './processes.ts'
import type { Database } from './store.ts'

/** A request by an Actor: for a list, or for the Entity with an id. */
export interface PlannedRequest {
  readonly actor: Actor
  readonly entity: string
  readonly id?: number
  readonly query?: string
}

export interface FoundPlan {
  readonly statements: readonly RecordedStatement[]
  readonly body: string
}

/** Returns the statements that Takeback runs for each request, and its answer, without a server. */
export async function lookUp(
  { url }: Database,
  config: string,
  requests: readonly PlannedRequest[],
): Promise<readonly FoundPlan[]> {
  const settings = readConfig({ database: url, config: rootOf(config) }, process.env)
  const app = await openApp(settings, await loadModel(settings.file))
  try {
    const found: FoundPlan[] = []
    for (const one of requests) {
      let body = ''
      const statements = await recordStatements(app.context.store, async () => {
        body = (await answerOf(app.context, one)).body ?? ''
      })
      found.push({ statements, body })
    }
    return found
  } finally {
    await app.close()
  }
}

function answerOf(context: Parameters<typeof listPage>[0], { actor, entity, id, query }: PlannedRequest) {
  const plan = context.plans.get(entity)
  if (plan === undefined) throw new Error(`There is no Entity type ${entity}.`)
  const parameters = new URLSearchParams(query)
  if (id !== undefined)
    return readOne(context, plan, actor, {
      id,
      query: query === undefined ? Query.empty : new Query(parameters, readEntity.takes),
    })
  return listPage(
    context,
    plan,
    actor,
    query === undefined ? Query.empty : new Query(parameters, listEntities.takes),
  )
}

/** Matches the first live rows in the order of the table: it reads only rows that it returns. */
const WALK = /WHERE t\."deleted_at" IS NULL ORDER BY t\."id" ASC LIMIT \d+$/

/** Throws if a database would scan a whole table: measurements must not depend on the number of rows. */
export async function refuseScans(
  database: Database,
  found: readonly FoundPlan[],
  tables: readonly string[],
): Promise<void> {
  for (const recorded of found.flatMap((one) => one.statements)) {
    const { text } = recorded.statement
    const plan = await database.explain(text, valuesOf(recorded))
    if (!WALK.test(text) && scansIn(plan, ['t', ...tables]).length > 0)
      throw new Error(`A query looks at all of a table:\n${text}\n${plan}`)
  }
}
