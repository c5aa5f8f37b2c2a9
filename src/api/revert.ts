import { isRecord } from '../declare/record.ts'
import { type Errors, Failure, invalid, invalidAt, note } from '../errors.ts'
import { addSentences, type Conflicts, explainObstacle } from '../journal/conflicts.ts'
import { groupsOf, revertTo } from '../journal/reversal.ts'
import { Snapshot } from '../journal/versions.ts'
import type { Plan } from '../plan/compile.ts'
import { FORBIDDEN, MOVED } from '../plan/past/amendment.ts'
import { type Actor, system } from '../plan/viewer/actor.ts'
import { type Act, after, read, write } from '../store/act.ts'
import type { Row } from '../store/dialect.ts'
import {
  allow,
  askedBy,
  type Context,
  entityAnswer,
  type KeptAnswer,
  matches,
  operationOf,
  type Preconditions,
  refusal,
  refuseByRule,
  shownTo,
  TRIES,
} from './context.ts'
import { entitySuccess, object, refTo, written } from './description.ts'
import { entityEndpoint } from './endpoint.ts'
import { parseId } from './id.ts'
import { undoneParams } from './notes.ts'
import { performOnce } from './once.ts'
import { writing } from './parameters.ts'
import { version as versionSchema } from './past-schemas.ts'
import type { Query } from './query.ts'
import { sealReplaced, secretsOf } from './secrets.ts'
import { refuseUnchangeable } from './update.ts'

/** `POST /api/<entity>/<id>/revert/` `{version}`: writes that version's values as a new one. */
export function* revert(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, body, when, query }: { id: number; body: unknown; when: Preconditions; query: Query },
): Act<KeptAnswer> {
  allow(plan, 'update', actor)
  allow(plan, 'history', actor)
  const errors: Errors = new Map()
  query.take(errors)
  const wanted = parseVersion(body, errors)
  if (errors.size > 0) {
    yield* whole(plan, actor, id)
    yield* refuseUnchangeable(plan, actor, id)
    throw invalid(errors)
  }
  for (let tries = 0; tries < TRIES; tries++) {
    const row = yield* whole(plan, actor, id)
    const [, version, json] = row
    if (!matches(when.ifMatch, version)) throw new Failure('stale')
    const [past] = yield* read(plan.history.version, { $id: id, $version: wanted })
    if (past === undefined || past[6] === null) {
      yield* refuseUnchangeable(plan, actor, id)
      throw invalidAt('version', 'is not a version that is still known')
    }
    const secrets = yield* secretsOf(context, actor, plan, [id])
    const snapshot = new Snapshot(String(json), secrets?.at(id, Number(version)))
    const now = { id, version: Number(version), deletion: null, snapshot }
    const former = new Snapshot(
      String(past[6]),
      secrets?.at(id, wanted),
      context.upcasterOf(plan.type.name).ofKnown,
    )
    const reversal = revertTo(plan, now, former.state)
    const lost = [...(secrets?.lost(id, wanted, 'any').keys() ?? [])]
    if (reversal === undefined)
      return withUnmapped(entityAnswer(200, plan, yield* shownTo(plan.view(actor), actor, row)), lost)

    const groups = groupsOf([reversal])
    const { steps, params } = context.amend.steps(groups, [], plan.view(actor).viewer)
    const operation = operationOf(actor)
    const seals = sealReplaced(context, [reversal])
    const taken = yield* read(plan.history.operationsSince, { $id: id, $version: wanted })
    const outcome = yield* write([...steps, ...seals.steps, context.notes.undo], {
      ...params,
      ...seals.params,
      ...undoneParams(taken.map(([one]) => String(one))),
      ...operation,
    })
    if (outcome.done) {
      if (plan.login !== undefined) yield* after(() => context.identities.forget())
      const [fresh] = yield* read(plan.view(actor).state, { ...operation, $id: id })
      const { disclosure } = plan.view(actor)
      const unmapped = reversal.unmapped.filter((path) => disclosure.column(plan.type.name, path))
      return withUnmapped(entityAnswer(200, plan, fresh, operation.$operation), [...unmapped, ...lost])
    }
    if (outcome.step === MOVED) continue
    if (outcome.step === FORBIDDEN) throw refusal(plan, 'update', actor, true)
    const conflicts: Conflicts = new Map()
    const { viewer, disclosure } = plan.view(actor)
    for (const statement of context.amend.obstacles(groups, viewer))
      for (const found of yield* read(statement, { ...params, ...askedBy(actor) }))
        addSentences(conflicts, `${plan.type.name}/${id}`, [
          explainObstacle(context.amend.obstacleOf(found), disclosure),
        ])
    if (conflicts.size > 0) throw new Failure('cannot_undo', { errors: conflicts })
  }
  throw new Failure('busy')
}

/** All of it, hidden fields too, for those who may see it and its history. */
function* whole(plan: Plan, actor: Actor, id: number): Act<Row> {
  const params = { ...askedBy(actor), $id: id }
  const [seen] = yield* read(plan.view(actor).state, params)
  if (seen === undefined || seen[3] !== null) throw new Failure('not_found')
  refuseByRule(plan, 'history', actor, seen)
  const [row] = yield* read(plan.view(system).state, params)
  if (row === undefined) throw new Failure('not_found')
  return row
}

function withUnmapped(answer: KeptAnswer, unmapped: readonly string[]): KeptAnswer {
  if (unmapped.length === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'Takeback-Unmapped': unmapped.join(', ') } }
}

function parseVersion(body: unknown, errors: Errors): number {
  const given = isRecord(body) ? body : {}
  for (const name of Object.keys(given)) if (name !== 'version') note(errors, name, 'is not known here')
  const { version } = given
  if (version === undefined) note(errors, 'version', 'is required')
  else if (!Number.isSafeInteger(version) || Number(version) < 1)
    note(errors, 'version', 'must be a whole number from 1')
  return Number(version)
}

export const revertEntity = entityEndpoint({
  name: 'revert',
  method: 'POST',
  path: '/api/{entity}/{id}/revert/',
  parameters: ['id', 'If-Match', ...writing],
  body: 'object',
  rule: { all: ['history', 'update'] },
  schemas: () => ({
    Revert: object({ version: { ...versionSchema, description: 'The version to go back to.' } }, ['version']),
  }),
  describe(about) {
    const reverted = written(entitySuccess(about, 200, 'The reverted Entity.'))
    return {
      summary: `Revert ${about.one} to a version`,
      description: `Writes the values of an old version as a new version. ${about.access('update', 'history')}`,
      body: { schema: refTo('Revert'), example: { version: 1 } },
      answers: [{ ...reverted, headers: [...reverted.headers, 'Takeback-Unmapped', 'Idempotent-Replay'] }],
      codes: [
        ...about.refusals('update', false),
        ...about.refusals('history', false),
        'not_found',
        'cannot_undo',
        'busy',
        'stale',
        'disk_full',
      ],
    }
  },
  run(context, plan, call) {
    const { caller, body, when, query } = call
    const id = parseId(call.id)
    return performOnce(context, call, () => revert(context, plan, caller.actor, { id, body, when, query }))
  },
})
