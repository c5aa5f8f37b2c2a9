import { budget } from '../../budget.ts'
import { fieldIn } from '../../declare/model.ts'
import { addReferenceError } from '../../declare/values.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { addBrokenCheck } from '../../plan/condition/checks.ts'
import { type AmendmentGroup, amendParams, UNMET } from '../../plan/past/amendment.ts'
import { MOVED } from '../../plan/past/moved.ts'
import type { Obstacle } from '../../plan/past/obstacle.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { addTaken } from '../../plan/write/faults.ts'
import { type Act, after, all, pause, read, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import { type Context, callerParams, operationOf } from '../context.ts'
import { hookCodes } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { knowledgeOf } from '../knowledge.ts'
import { statesOf } from '../past/states.ts'
import { settle } from '../read/list-body.ts'
import { beforeUpdate, type HookedChanges, hasHook } from './hooks.ts'
import { ManyFailures, ManyPatch, type PatchedEntity, PatchedMany } from './many-patch.ts'
import {
  changedMany,
  type DoneMany,
  forbiddenMany,
  MANY,
  MANY_CODES,
  type Matched,
  MovedMany,
  parseMany,
} from './matching.ts'
import { emailCodes, needsRecentLogin, refuseOtherEmail } from './own-email.ts'
import { expressionColumns, provideChanged } from './provide.ts'
import { type HookedMany, runMany } from './run-many.ts'

/** `hooked` is what hooks made of the body, by Entity. They ran before anything was locked. */
interface Changing {
  readonly found: readonly Matched[]
  readonly patch: ManyPatch
  readonly hooked?: HookedMany<HookedChanges> | undefined
}

/** `PATCH /api/<entity>/?filter=…`: writes the changes of all matching Entities as one operation. */
function* changeMany(
  context: Context,
  plan: Plan,
  actor: Actor,
  groups: readonly AmendmentGroup[],
): Act<DoneMany> {
  if (groups.length === 0) return { operation: null }
  const operation = operationOf(actor)
  const { steps, params } = context.amend.steps(groups, [], plan.view(actor).viewer)
  const outcome = yield* write(steps, { ...params, ...operation })
  if (outcome.done) {
    if (plan.login !== undefined) yield* after(() => context.identities.forget())
    return { operation: operation.$operation }
  }
  if (outcome.step === UNMET) refuseObstructed(plan, actor, outcome.rows.map(context.amend.obstacleOf))
  else if (outcome.step !== MOVED)
    refuseObstructed(plan, actor, yield* obstaclesOf(context, plan, actor, groups))
  throw new MovedMany()
}

/** Applies the body to some Entities at a time, so that other requests can run in between. */
function* patchAll(
  context: Context,
  plan: Plan,
  actor: Actor,
  { found, patch, hooked }: Changing,
): Act<AmendmentGroup[]> {
  const { name } = plan.type
  const patched = new PatchedMany(name)
  const isAsked = patch.hasOperators || patch.setsHidden || hooked !== undefined
  const hides = plan.view(actor).hides && isAsked
  for (let at = 0; at < found.length; at += budget.pageEntities) {
    const some = found.slice(at, at + budget.pageEntities)
    const entities = some.map(({ id }) => ({ entity: name, id }))
    const states = yield* statesOf(context, entities)
    const pairs = some.map(({ id }) => [name, id] as const)
    const known = hides ? yield* knowledgeOf(context, actor, pairs) : undefined
    const made: PatchedEntity[] = []
    for (const { id, version } of some) {
      const now = states.get(`${name}/${id}`)
      if (now?.version !== version) throw new MovedMany()
      const errors: Errors = new Map()
      const how = { known: known?.get(`${name}/${id}`), hooked: hooked?.get(id) }
      const one = patch.apply(now, errors, how)
      if (errors.size > 0) patched.fail(id, errors)
      else if (one !== undefined) {
        if (needsRecentLogin(plan, actor, id)) refuseOtherEmail(now.snapshot.state.email, one.bound)
        made.push(one)
      }
    }
    yield* addAll(plan, actor, made, patched)
    if (patched.isTooLarge) break
    yield* pause(0)
  }
  const { failures } = patched
  if (failures.size > 0) throw invalid(failures)
  return patched.groups(plan)
}

/** Adds the changes, with the expressions that every update sets. */
function* addAll(plan: Plan, actor: Actor, made: readonly PatchedEntity[], patched: PatchedMany): Act<void> {
  const columns = expressionColumns(plan, actor)
  if (columns.length === 0) {
    for (const one of made) patched.add(one)
    return
  }
  const allParams = made.map((one) => ({
    ...callerParams(actor),
    ...one.bound,
    $id: one.id,
    $versions: null,
  }))
  const acts = made.map(({ version }, at) =>
    settle(
      provideChanged(plan, actor, {
        params: allParams[at] ?? {},
        when: { ifMatch: `|${version}|` },
        partial: true,
      }),
    ),
  )
  for (const [at, errors] of (yield* all(acts)).entries()) {
    const [one, params] = [made[at], allParams[at] as Params | undefined]
    if (errors instanceof Failure || one === undefined || params === undefined) throw new MovedMany()
    const own = Object.fromEntries(columns.map((name) => [name, params[name] ?? null]))
    if (errors.size > 0) patched.fail(one.id, errors)
    else patched.add({ ...one, bound: { ...one.bound, ...own }, free: [...one.free, ...columns] })
  }
}

function* obstaclesOf(
  context: Context,
  plan: Plan,
  actor: Actor,
  groups: readonly AmendmentGroup[],
): Act<Obstacle[]> {
  const { amend, model } = context
  const params = { ...amendParams(groups, model, []), ...callerParams(actor) }
  const found: Obstacle[] = []
  for (const statement of amend.obstacles(groups, plan.view(actor).viewer))
    for (const row of yield* read(statement, params)) found.push(amend.obstacleOf(row))
  return found
}

/** Throws if there are obstacles: `forbidden` if a rule is among them, otherwise all of them. */
function refuseObstructed(plan: Plan, actor: Actor, obstacles: readonly Obstacle[]): void {
  const forbidden = obstacles.filter(({ reason }) => reason === 'forbidden').map(({ id }) => id)
  if (forbidden.length > 0) throw forbiddenMany(plan, actor, 'update', new Set(forbidden).size)
  const errors: Errors = new Map()
  const failures = new ManyFailures(plan.type.name)
  for (const one of obstacles.toSorted((a, b) => a.id - b.id)) {
    // Other obstacles depend on the values only, not on the Entity.
    const isOfOne = one.reason === 'unmet' || one.reason === 'taken'
    const own: Errors = isOfOne ? new Map() : errors
    addObstacleError(plan, actor, one, own)
    if (isOfOne) failures.add(one.id, own)
  }
  failures.addTo(errors)
  if (errors.size > 0) throw invalid(errors)
}

/** Adds an error for an obstacle, in the words of a single PATCH. */
function addObstacleError(plan: Plan, actor: Actor, obstacle: Obstacle, errors: Errors): void {
  const { disclosure } = plan.view(actor)
  const { type } = plan
  if (obstacle.reason === 'unmet') addBrokenCheck(errors, obstacle.check, { type, disclosure })
  else if (obstacle.reason === 'taken') {
    const { columns: set, other } = obstacle
    addTaken(errors, { type: type.name, set, holder: other[1] }, disclosure)
  } else if (obstacle.reason === 'clash') {
    for (const column of obstacle.columns)
      if (disclosure.column(type.name, column))
        addError(
          errors,
          column === EMAIL_KEY ? 'email' : column,
          'must be unique, but would be the same for several',
        )
  } else if (obstacle.reason !== 'forbidden') {
    const field = fieldIn(type, obstacle.columns[0] ?? '')
    if (field?.kind === 'links') addError(errors, field.path, 'has an item that refers to nothing')
    else if (field !== undefined) addReferenceError(errors, field.path, 'refers to nothing')
  }
}

export const patchEntities = entityEndpoint({
  name: 'patchMany',
  method: 'PATCH',
  path: '/api/{entity}/',
  parameters: MANY,
  plans: 'itself',
  body: 'object',
  rule: { all: ['read', 'update'] },
  describe: (about) => ({
    summary: `Change all ${about.type.name} that match`,
    description: `Merges the keys that are sent into all ${about.type.name} that match \`filter\` and that you see, as one operation: all of them or none. Those that have these values already stay as they are. \`dry_run=1\` shows what would change, with a \`plan\`. ${about.access('update')}`,
    query: '?filter=version%20%3E%203&dry_run=1',
    body: {
      schema: about.schema('patch'),
      example: Object.fromEntries(Object.entries(about.sample(about.type)).slice(0, 1)),
    },
    answers: [changedMany],
    codes: [
      ...about.refusals('update', true),
      ...hookCodes(about, 'update'),
      ...emailCodes(about),
      ...MANY_CODES,
    ],
  }),
  run(context, plan, call) {
    const { actor } = call.caller
    const errors: Errors = new Map()
    const patch = new ManyPatch(plan, actor, call.body, errors)
    const request = parseMany(plan, 'update', call, errors)
    return runMany<HookedChanges, AmendmentGroup[]>(context, plan, call, {
      request,
      action: 'update',
      before: hasHook(plan, 'update')
        ? (about, hookCaller) => beforeUpdate(context, plan, hookCaller, { ...about, body: call.body })
        : undefined,
      prepare: (found, hooked, run) => run(patchAll(context, plan, actor, { found, patch, hooked })),
      act: (groups) => changeMany(context, plan, actor, groups),
    })
  },
})
