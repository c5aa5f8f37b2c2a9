import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { type MaybePromise, whenResolved } from '../../maybe-promise.ts'
import type { Plan } from '../../plan/compile.ts'
import { AS_OF } from '../../plan/past/past.ts'
import { entityRow, entityState } from '../../plan/view/entity-row.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import type { Params } from '../../store/dialect.ts'
import type { Statement } from '../../store/sql.ts'
import { type Answer, allow, allowed, type Context, callerParams, entityAnswer } from '../context.ts'
import { entitySuccess } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { parsePast, Query } from '../query.ts'

interface EntityReading {
  readonly id: number
  readonly query: Query<'fields' | 'expand' | 'at'>
}

/** `GET /api/<entity>/<id>/` */
export function readOne(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, query }: EntityReading,
): MaybePromise<Answer> {
  allow(plan, 'read', actor)
  const plain = query === Query.empty
  const params = callerParams(actor)
  params.$id = id
  return whenResolved(context.positions.header(), (position) => {
    const { lists } = plan.view(actor)
    const { statement, past } = plain ? { statement: lists.read } : readQueryOf(plan, actor, query, params)
    return whenResolved(context.store.read(statement, params), ([row]) => {
      if (row === undefined && plain && context.explainsDenials) return explain(context, plan, actor, id)
      return withHeaders(entityAnswer(200, plan, entityRow(row)), past ? {} : position)
    })
  })
}

/** Reads the query, and puts its values into `params`. */
function readQueryOf(
  plan: Plan,
  actor: Actor,
  query: EntityReading['query'],
  params: Params,
): { statement: Statement; past: boolean } {
  const { lists } = plan.view(actor)
  const errors: Errors = new Map()
  const given = query.take(errors)
  const fields = given.fields === undefined ? undefined : lists.parseFields(given.fields, errors)
  const expand = given.expand === undefined ? undefined : lists.parseExpand(given.expand, errors)
  const at = parsePast(given.at, plan.type.retention.journal, errors)
  if (at !== undefined) allow(plan, 'history', actor)
  if (at !== undefined && expand !== undefined) addError(errors, 'expand', 'cannot be combined with at')
  if (errors.size > 0) throw invalid(errors)
  if (at !== undefined) {
    params[AS_OF] = at
    return { statement: lists.readAsOf(fields), past: true }
  }
  const chosen = lists.readOnly({ fields, expand })
  Object.assign(params, chosen.params)
  return { statement: chosen.statement, past: false }
}

function withHeaders(answer: Answer, more: Readonly<Record<string, string>>): Answer {
  return { ...answer, headers: { ...answer.headers, ...more } }
}

/** Throws not found, with the rule that hides the Entity, if one does. */
async function explain(context: Context, plan: Plan, actor: Actor, id: number): Promise<never> {
  const [row] = await context.store.read(plan.view(actor).state, { ...callerParams(actor), $id: id })
  const state = entityState(row)
  if (state?.deletion === null) allowed(plan, 'read', actor, state)
  throw new Failure('not_found')
}

export const readEntity = entityEndpoint({
  name: 'read',
  method: 'GET',
  path: '/api/{entity}/{id}/',
  parameters: ['id', 'If-None-Match', 'at', 'fields', 'expand'],
  rule: { all: ['read'] },
  describe: (about) => ({
    summary: `Read ${about.one}`,
    description: `A deleted Entity is not found. ${about.access('read')}`,
    answers: [
      {
        ...entitySuccess(about, 200, 'The Entity.'),
        headers: ['ETag', 'Takeback-Position'],
        schema: { anyOf: [about.schema('one'), about.schema('part')] },
      },
      { status: 304, description: 'Unchanged: the ETag is one of `If-None-Match`.', headers: ['ETag'] },
    ],
    codes: [...about.refusals('read', false), ...about.refusals('history', false), 'not_found'],
  }),
  run: (context, plan, { caller, id, query }) =>
    readOne(context, plan, caller.actor, { id: parseId(id), query }),
})
