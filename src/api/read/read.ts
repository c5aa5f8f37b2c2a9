import { type Errors, invalid, note } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { AS_OF } from '../../plan/past/past.ts'
import { entityRow, entityState } from '../../plan/view/entity-row.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type Answer, allow, allowed, askedBy, type Context, entityAnswer } from '../context.ts'
import { entitySuccess } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { parsePast, Query } from '../query.ts'

interface EntityReading {
  readonly id: number
  readonly query: Query<'fields' | 'expand' | 'at'>
}

/** `GET /api/<entity>/<id>/` */
export async function readOne(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, query }: EntityReading,
): Promise<Answer> {
  allow(plan, 'read', actor)
  const { lists } = plan.view(actor)
  const params = askedBy(actor)
  params.$id = id
  const position = await context.positions.header()
  if (query === Query.empty) {
    const [row] = await context.store.read(lists.read, params)
    if (row === undefined && context.explainsDenials) await explain(context, plan, actor, id)
    return withHeaders(entityAnswer(200, plan, entityRow(row)), position)
  }
  const errors: Errors = new Map()
  const given = query.take(errors)
  const fields = given.fields === undefined ? undefined : lists.parseFields(given.fields, errors)
  const expand = given.expand === undefined ? undefined : lists.parseExpand(given.expand, errors)
  const at = parsePast(given.at, plan.type.retention.journal, errors)
  if (at !== undefined) allow(plan, 'history', actor)
  if (at !== undefined && expand !== undefined) note(errors, 'expand', 'cannot be combined with at')
  if (errors.size > 0) throw invalid(errors)
  const asked =
    at === undefined
      ? lists.readOnly({ fields, expand })
      : { statement: lists.readAsOf(fields), params: { [AS_OF]: at } }
  const [row] = await context.store.read(asked.statement, Object.assign(asked.params, params))
  return withHeaders(entityAnswer(200, plan, entityRow(row)), at === undefined ? position : {})
}

function withHeaders(answer: Answer, more: Readonly<Record<string, string>>): Answer {
  return { ...answer, headers: { ...answer.headers, ...more } }
}

/** Throws with the rule that hides the Entity, if one does. */
async function explain(context: Context, plan: Plan, actor: Actor, id: number): Promise<void> {
  const [row] = await context.store.read(plan.view(actor).state, { ...askedBy(actor), $id: id })
  const state = entityState(row)
  if (state?.deletion === null) allowed(plan, 'read', actor, state)
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
