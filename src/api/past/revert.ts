import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import { addSentences, type Conflicts, explainObstacle } from '../../journal/conflicts.ts'
import { groupsOf, type Reversal, revertTo } from '../../journal/reversal.ts'
import { Snapshot } from '../../journal/versions.ts'
import type { Plan } from '../../plan/compile.ts'
import { type AmendmentGroup, FORBIDDEN, UNMET } from '../../plan/past/amendment.ts'
import { versionColumns } from '../../plan/past/history.ts'
import { MOVED } from '../../plan/past/moved.ts'
import type { EntityState } from '../../plan/view/entity-row.ts'
import { type Actor, system } from '../../plan/viewer/actor.ts'
import { type Act, after, read, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import { type SecretPast, sealReplaced, secretsOf } from '../account/secrets.ts'
import {
  allow,
  allowed,
  type Context,
  callerParams,
  entityAnswer,
  isMatch,
  type KeptAnswer,
  operationOf,
  type Preconditions,
  refusal,
  shownTo,
  stateOf,
  TRIES,
} from '../context.ts'
import { closedObject, entitySuccess, refTo, written } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { refuseUnchangeable } from '../live.ts'
import { undoneParams } from '../notes.ts'
import { writing } from '../parameters.ts'
import type { Query } from '../query.ts'
import { emailCodes, needsLogin } from '../write/own-email.ts'
import { performPlanned } from '../write/planned.ts'
import { returnsOwnEmail } from './own-account.ts'
import { version as versionSchema } from './past-schemas.ts'

interface Reverting {
  readonly id: number
  readonly body: unknown
  readonly when: Preconditions
  readonly query: Query
}

/** `POST /api/<entity>/<id>/revert/` `{version}`: writes the values of that version as a new version. */
export function* revert(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, body, when, query }: Reverting,
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
    const entity = yield* whole(plan, actor, id)
    if (!isMatch(when.ifMatch, entity.version)) throw new Failure('stale')
    const answer = yield* new Revert(context, plan, actor, wanted).attempt(entity)
    if (answer !== undefined) return answer
  }
  throw new Failure('busy')
}

/** The revert of one Entity to a version. */
class Revert {
  readonly #context: Context
  readonly #plan: Plan
  readonly #actor: Actor
  /** The version to revert to. */
  readonly #wanted: number

  constructor(context: Context, plan: Plan, actor: Actor, wanted: number) {
    this.#context = context
    this.#plan = plan
    this.#actor = actor
    this.#wanted = wanted
  }

  /** Undefined if others have changed the Entity: then it is tried again. */
  *attempt(entity: EntityState): Act<KeptAnswer | undefined> {
    const former = yield* this.#former(entity.id)
    const secrets = yield* secretsOf(this.#context, this.#actor, this.#plan, [entity.id])
    const reversal = this.#reversal(entity, former, secrets)
    const lost = [...(secrets?.lost(entity.id, this.#wanted, 'any').keys() ?? [])]
    if (reversal !== undefined) return yield* this.#write(entity.id, reversal, lost)
    const shown = yield* shownTo(this.#plan.view(this.#actor), this.#actor, entity)
    return withUnmapped(entityAnswer(200, this.#plan, shown), lost)
  }

  /** Returns the JSON of the wanted version. */
  *#former(id: number): Act<string> {
    const [row] = yield* read(this.#plan.history.version, { $id: id, $version: this.#wanted })
    const data = row === undefined ? null : versionColumns.read(row).data
    if (data !== null) return String(data)
    yield* refuseUnchangeable(this.#plan, this.#actor, id)
    throw invalidAt('version', 'is not a known version')
  }

  #reversal(
    { id, version, json }: EntityState,
    data: string,
    secrets: SecretPast | undefined,
  ): Reversal | undefined {
    const snapshot = new Snapshot(json, secrets?.at(id, version))
    const upcaster = this.#context.upcasterOf(this.#plan.type.name).ofKnown
    const former = new Snapshot(data, secrets?.at(id, this.#wanted), upcaster)
    return revertTo(this.#plan, { id, version, deletion: null, snapshot }, former.state)
  }

  *#write(id: number, reversal: Reversal, lost: readonly string[]): Act<KeptAnswer | undefined> {
    const { amend, notes, identities } = this.#context
    const view = this.#plan.view(this.#actor)
    const groups = groupsOf([reversal])
    const { steps, params } = amend.steps(groups, [], view.viewer)
    if (returnsOwnEmail(this.#actor, reversal)) {
      yield* this.#refuseObstructed(id, groups, params)
      throw needsLogin()
    }
    const operation = operationOf(this.#actor)
    const seals = sealReplaced(this.#context, [reversal])
    const taken = yield* read(this.#plan.history.operationsSince, { $id: id, $version: this.#wanted })
    const outcome = yield* write([...steps, ...seals.steps, notes.undo], {
      ...params,
      ...seals.params,
      ...undoneParams(taken.map(([one]) => String(one))),
      ...operation,
    })
    if (outcome.done) {
      if (this.#plan.login !== undefined) yield* after(() => identities.forget())
      const fresh = yield* stateOf(view, { ...operation, $id: id })
      const unmapped = reversal.unmapped.filter((path) => view.disclosure.column(this.#plan.type.name, path))
      return withUnmapped(entityAnswer(200, this.#plan, fresh, operation.$operation), [...unmapped, ...lost])
    }
    if (outcome.step === FORBIDDEN) throw refusal(this.#plan, 'update', this.#actor, true)
    if (outcome.step === UNMET) {
      const sentences = outcome.rows.map((row) => explainObstacle(amend.obstacleOf(row), view.disclosure))
      throw new Failure('cannot_undo', { errors: new Map([[`${this.#plan.type.name}/${id}`, sentences]]) })
    }
    if (outcome.step !== MOVED) yield* this.#refuseObstructed(id, groups, params)
    return undefined
  }

  /** Throws all obstacles. Returns if there are none any more. */
  *#refuseObstructed(id: number, groups: readonly AmendmentGroup[], params: Params): Act<void> {
    const { amend } = this.#context
    const { viewer, disclosure } = this.#plan.view(this.#actor)
    const conflicts: Conflicts = new Map()
    for (const statement of amend.obstacles(groups, viewer))
      for (const found of yield* read(statement, { ...params, ...callerParams(this.#actor) }))
        addSentences(conflicts, `${this.#plan.type.name}/${id}`, [
          explainObstacle(amend.obstacleOf(found), disclosure),
        ])
    if (conflicts.size > 0) throw new Failure('cannot_undo', { errors: conflicts })
  }
}

/** Returns the whole Entity with its hidden fields, if the caller may see it and its history. */
function* whole(plan: Plan, actor: Actor, id: number): Act<EntityState> {
  const params = { ...callerParams(actor), $id: id }
  const seen = yield* stateOf(plan.view(actor), params)
  if (seen === undefined || seen.deletion !== null) throw new Failure('not_found')
  allowed(plan, 'history', actor, seen)
  const all = yield* stateOf(plan.view(system), params)
  if (all === undefined) throw new Failure('not_found')
  return all
}

function withUnmapped(answer: KeptAnswer, unmapped: readonly string[]): KeptAnswer {
  if (unmapped.length === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'Takeback-Unmapped': unmapped.join(', ') } }
}

function parseVersion(body: unknown, errors: Errors): number {
  const given = isRecord(body) ? body : {}
  for (const name of Object.keys(given)) if (name !== 'version') addError(errors, name, 'is not known here')
  const { version } = given
  if (version === undefined) addError(errors, 'version', 'is required')
  else if (!Number.isSafeInteger(version) || Number(version) < 1)
    addError(errors, 'version', 'must be a whole number from 1')
  return Number(version)
}

export const revertEntity = entityEndpoint({
  name: 'revert',
  method: 'POST',
  path: '/api/{entity}/{id}/revert/',
  parameters: ['id', 'If-Match', ...writing],
  plans: 'apart',
  body: 'object',
  rule: { all: ['history', 'update'] },
  schemas: () => ({
    Revert: closedObject({ version: { ...versionSchema, description: 'The version to go back to.' } }, [
      'version',
    ]),
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
        ...emailCodes(about),
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
    return performPlanned(context, call, () => revert(context, plan, caller.actor, { id, body, when, query }))
  },
})
