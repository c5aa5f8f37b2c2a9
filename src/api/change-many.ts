import { budget } from '../budget.ts'
import { fieldIn } from '../declare/model.ts'
import { noteReference } from '../declare/values.ts'
import { type Errors, Failure, invalid, note } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { noteBroken } from '../plan/condition/checks.ts'
import type { Filter } from '../plan/condition/filter.ts'
import { type AmendmentGroup, amendParams, MOVED, UNMET } from '../plan/past/amendment.ts'
import type { Obstacle } from '../plan/past/obstacle.ts'
import { EMAIL_KEY } from '../plan/tables/schema.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { noteTaken } from '../plan/write/faults.ts'
import { type Act, after, pause, read, write } from '../store/act.ts'
import { askedBy, type Context, operationOf } from './context.ts'
import { entityEndpoint } from './endpoint.ts'
import { knowledgeOf } from './knowledge.ts'
import { ManyPatch, PatchedMany } from './many-patch.ts'
import {
  changedMany,
  type DoneMany,
  forbiddenMany,
  MANY,
  MANY_CODES,
  MANY_TRIES,
  type Matched,
  matchedBy,
  parseMany,
  runMany,
} from './matching.ts'
import { statesOf } from './states.ts'

/** `PATCH /api/<entity>/?filter=…`: changes all that match, as one operation. */
export function* changeMany(
  context: Context,
  plan: Plan,
  actor: Actor,
  { filter, patch }: { readonly filter: Filter; readonly patch: ManyPatch },
): Act<DoneMany> {
  const { viewer } = plan.view(actor)
  for (let tries = 0; tries < MANY_TRIES; tries++) {
    if (tries > 0) yield* pause(Math.random() * 10 * tries)
    const found = yield* matchedBy(plan, actor, 'update', filter)
    const patched = yield* patchAll(context, plan, actor, { found, patch })
    if (patched === undefined) continue
    const { failures } = patched
    if (failures.size > 0) throw invalid(failures)
    const groups = patched.groups(plan)
    if (groups.length === 0) return { matched: found.length, operation: null }
    const operation = operationOf(actor)
    const { steps, params } = context.amend.steps(groups, [], viewer)
    const outcome = yield* write(steps, { ...params, ...operation })
    if (outcome.done) {
      if (plan.login !== undefined) yield* after(() => context.identities.forget())
      return { matched: found.length, operation: operation.$operation }
    }
    if (outcome.step === UNMET) refuseObstructed(plan, actor, outcome.rows.map(context.amend.obstacleOf))
    else if (outcome.step !== MOVED)
      refuseObstructed(plan, actor, yield* obstaclesOf(context, plan, actor, groups))
  }
  throw new Failure('busy')
}

/** Some at a time, so that other requests can run in between. Undefined if others have changed one of them meanwhile. */
function* patchAll(
  context: Context,
  plan: Plan,
  actor: Actor,
  { found, patch }: { readonly found: readonly Matched[]; readonly patch: ManyPatch },
): Act<PatchedMany | undefined> {
  const { name } = plan.type
  const patched = new PatchedMany(name)
  const hides = patch.hasOperators && plan.view(actor).hides
  for (let at = 0; at < found.length; at += budget.pageEntities) {
    const some = found.slice(at, at + budget.pageEntities)
    const entities = some.map(({ id }) => ({ entity: name, id }))
    const states = yield* statesOf(context, entities)
    const known = hides
      ? yield* knowledgeOf(
          context,
          actor,
          some.map(({ id }) => [name, id] as const),
        )
      : undefined
    for (const { id, version } of some) {
      const now = states.get(`${name}/${id}`)
      if (now?.version !== version) return undefined
      patch.apply(now, known?.get(`${name}/${id}`), patched)
    }
    yield* pause(0)
  }
  return patched
}

function* obstaclesOf(
  context: Context,
  plan: Plan,
  actor: Actor,
  groups: readonly AmendmentGroup[],
): Act<Obstacle[]> {
  const { amend, model } = context
  const params = { ...amendParams(groups, model, []), ...askedBy(actor) }
  const found: Obstacle[] = []
  for (const statement of amend.obstacles(groups, plan.view(actor).viewer))
    for (const row of yield* read(statement, params)) found.push(amend.obstacleOf(row))
  return found
}

/** Throws if there are obstacles: as forbidden if a rule is among them, otherwise with all of them. */
function refuseObstructed(plan: Plan, actor: Actor, obstacles: readonly Obstacle[]): void {
  const forbidden = obstacles.filter(({ reason }) => reason === 'forbidden').map(({ id }) => id)
  if (forbidden.length > 0) throw forbiddenMany(plan, actor, 'update', new Set(forbidden).size)
  const errors: Errors = new Map()
  for (const one of obstacles) noteObstacle(plan, actor, one, errors)
  if (errors.size > 0) throw invalid(errors)
}

/** In the words that a single PATCH has for it. */
function noteObstacle(plan: Plan, actor: Actor, obstacle: Obstacle, errors: Errors): void {
  const { disclosure } = plan.view(actor)
  const { type } = plan
  if (obstacle.reason === 'unmet') noteBroken(errors, obstacle.check, { type, disclosure })
  else if (obstacle.reason === 'taken') {
    const { columns: set, other } = obstacle
    noteTaken(errors, { type: type.name, set, holder: other[1] }, disclosure)
  } else if (obstacle.reason === 'clash') {
    for (const column of obstacle.columns)
      if (disclosure.column(type.name, column))
        note(
          errors,
          column === EMAIL_KEY ? 'email' : column,
          'must be unique, and would be the same for several',
        )
  } else if (obstacle.reason !== 'forbidden') {
    const field = fieldIn(type, obstacle.columns[0] ?? '')
    if (field?.kind === 'links') note(errors, field.path, 'has an item that refers to nothing')
    else if (field !== undefined) noteReference(errors, field.path, 'refers to nothing')
  }
}

export const patchEntities = entityEndpoint({
  name: 'patchMany',
  method: 'PATCH',
  path: '/api/{entity}/',
  parameters: MANY,
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
    codes: [...about.refusals('update', true), ...MANY_CODES],
  }),
  run(context, plan, call) {
    const { actor } = call.caller
    const errors: Errors = new Map()
    const patch = new ManyPatch(plan, actor, call.body, errors)
    const request = parseMany(plan, 'update', call, errors)
    return runMany(context, call, request, () =>
      changeMany(context, plan, actor, { filter: request.filter, patch }),
    )
  },
})
