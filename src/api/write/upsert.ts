import { no } from '../../declare/cel/expression.ts'
import { fieldIn } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type MatchedSet, uniqueSets } from '../../plan/write/match.ts'
import { type Act, read, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import { signsUp } from '../account/sign-up.ts'
import type { Call } from '../call.ts'
import {
  type Answer,
  allow,
  type Context,
  callerParams,
  type KeptAnswer,
  operationOf,
  type Preconditions,
  TRIES,
} from '../context.ts'
import { type AboutEntity, type Description, entitySuccess, hookCodes, manyOf } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { replayOf } from '../idempotency.ts'
import { writing } from '../parameters.ts'
import { Query } from '../query.ts'
import { answerAll, boundParams, refuseNumber, repeatedValues } from '../read/list-body.ts'
import { lockAhead } from './batch-locks.ts'
import { create } from './create.ts'
import type { HookCaller } from './hook-run.ts'
import {
  beforeCreate,
  beforeEach,
  beforeUpdate,
  type HookedBody,
  type HookedChanges,
  hasHook,
  hookCallerOf,
} from './hooks.ts'
import { emailCodes } from './own-email.ts'
import { transactPlanned } from './planned.ts'
import { update } from './update.ts'

interface Upserting {
  readonly query: Query
  readonly when: Preconditions
  /** The operation that the upsert belongs to, if any. */
  readonly operation?: string
}

/** What a hook made of a body, and the id of its Entity: undefined if one is to be created. */
export interface HookedUpsert extends Partial<HookedBody & HookedChanges> {
  readonly id: number | undefined
  readonly body: object
}

/**
 * `PUT /api/<entity>/?match=email`: replaces the Entity with this value, or creates one. To be run in one transaction,
 * in which nobody else can change the Entity once it is locked.
 */
export function* upsert(
  context: Context,
  plan: Plan,
  actor: Actor,
  { body, ...sent }: Upserting & { readonly body: unknown; readonly hooked?: HookedUpsert | undefined },
): Act<KeptAnswer> {
  const set = matchedSet(plan, actor, sent.query)
  return yield* upsertBy(context, plan, actor, { ...sent, set, body })
}

/** The same for a list: all or none, as one operation. */
export function* upsertMany(
  context: Context,
  plan: Plan,
  actor: Actor,
  {
    bodies,
    hooked,
    ...sent
  }: Upserting & { readonly bodies: readonly unknown[]; readonly hooked?: readonly HookedUpsert[] },
): Act<KeptAnswer> {
  const set = matchedSet(plan, actor, sent.query)
  refuseNumber(bodies.length)
  if (sent.when.ifMatch !== null) throw invalidAt('If-Match', 'is not possible for a list')
  yield* lockAhead(
    context,
    bodies.map((body) => ({ method: 'PUT', plan, id: undefined, body })),
  )
  const { $operation: operation } = operationOf(actor)
  const acts = bodies.map((body, at) =>
    upsertBy(context, plan, actor, { ...sent, set, body, operation, hooked: hooked?.[at] }),
  )
  const twice = repeatedValues(plan, actor, bodies)
  const answer = yield* answerAll(acts, () => twice)
  if (twice.size > 0) throw invalid(twice)
  return answer
}

/** Returns the unique set that `match` names. Throws if the caller may know of no such set. */
function matchedSet(plan: Plan, actor: Actor, query: Query): MatchedSet {
  const { may, writes } = plan.view(actor)
  if (may.update === no) allow(plan, 'create', actor, true)
  const errors: Errors = new Map()
  const { match } = query.take(errors)
  const names = match?.split(',').map((name) => columnNamed(plan, name))
  const found = writes.sets.find(
    ({ paths }) => paths.length === names?.length && paths.every((path) => names.includes(path)),
  )
  if (found === undefined) addError(errors, 'match', () => expectedSets(plan, writes.sets))
  if (errors.size > 0 || found === undefined) throw invalid(errors)
  return found
}

/** A reference is matched by its id. `.id` may be left out. */
function columnNamed({ type }: Plan, name: string): string {
  return fieldIn(type, `${name}.id`)?.kind === 'reference' ? `${name}.id` : name
}

function expectedSets({ type }: Plan, sets: readonly MatchedSet[]): string {
  if (sets.length === 0) return `is not possible: ${type.name} have no unique values`
  return `must name unique values of ${type.name}: ${sets.map(({ paths }) => paths.join(',')).join(' or ')}`
}

interface Matching extends Omit<Upserting, 'query'> {
  readonly set: MatchedSet
  readonly body: unknown
  readonly hooked?: HookedUpsert | undefined
}

/**
 * Updates the matching Entity, or creates one. Somebody else may create or delete it at the same time. An Entity that
 * the caller does not see is not found, and the create is then refused because the value is taken.
 */
function* upsertBy(
  context: Context,
  plan: Plan,
  actor: Actor,
  { set, body: sentBody, when, operation, hooked }: Matching,
): Act<KeptAnswer> {
  if (!isRecord(sentBody)) throw invalidAt('', 'must be an object')
  const params = { ...callerParams(actor), ...matchParams(plan, actor, set, sentBody) }
  const { body, sent, own } = hooked ?? { body: sentBody }
  const creating = { ...(operation !== undefined && { operation }) }
  for (let tries = 0; tries < TRIES; tries++) {
    const id = yield* findMatch(plan, actor, set, params)
    // The hook ran for another Entity, and must run again.
    if (hooked !== undefined && hooked.id !== id) throw new Failure('busy')
    if (id !== undefined) {
      const about = { id, body, own, sent, mode: 'replace', when, query: Query.empty, ...creating } as const
      return yield* update(context, plan, actor, about)
    }
    if (when.ifMatch !== null) throw new Failure('stale')
    try {
      return yield* create(plan, actor, body, { ...creating, sent })
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'invalid_data') throw error
      if ((yield* findMatch(plan, actor, set, params)) === undefined) throw error
    }
  }
  throw new Failure('busy')
}

/** Runs the hook of a create or an update, whichever applies now. The write checks whether that has changed. */
export async function beforeUpsert(
  context: Context,
  plan: Plan,
  hookCaller: HookCaller,
  { query, when, body }: Upserting & { readonly body: unknown },
): Promise<HookedUpsert | undefined> {
  if (!hasHook(plan, 'create') && !hasHook(plan, 'update')) return undefined
  const { actor } = hookCaller.caller
  const set = matchedSet(plan, actor, query)
  if (!isRecord(body)) throw invalidAt('', 'must be an object')
  const params = { ...callerParams(actor), ...matchParams(plan, actor, set, body) }
  const isKnown = set.columns.every((column) => params[column] !== undefined)
  const [row] = isKnown ? await context.store.read(plan.view(actor).writes.find(set.columns), params) : []
  if (row === undefined)
    return {
      id: undefined,
      ...(hasHook(plan, 'create') ? await beforeCreate(context, plan, hookCaller, body) : { body }),
    }
  const id = Number(row[0])
  const about = { id, body, when }
  return {
    id,
    ...(hasHook(plan, 'update') ? await beforeUpdate(context, plan, hookCaller, about) : { body }),
  }
}

/** Throws if a value to match by is missing. An invalid value matches nothing, and the create reports it. */
function matchParams(plan: Plan, actor: Actor, set: MatchedSet, body: object): Params {
  const params = boundParams(plan, actor, body)
  const errors: Errors = new Map()
  for (const [at, column] of set.columns.entries())
    if (params[column] === null)
      addError(errors, set.paths[at] ?? column, 'is required, since it is matched by')
  if (errors.size > 0) throw invalid(errors)
  return params
}

/** Finds and locks the Entity; undefined if the caller sees none. */
function* findMatch(
  plan: Plan,
  actor: Actor,
  { columns }: MatchedSet,
  params: Params,
): Act<number | undefined> {
  if (columns.some((column) => params[column] === undefined)) return undefined
  const { writes } = plan.view(actor)
  const [found] = yield* read(writes.find(columns), params)
  if (found === undefined) return undefined
  const [id] = found
  if (writes.hold.length > 0) {
    yield* write(writes.hold, { $id: Number(id) })
    const [still] = yield* read(writes.find(columns), params)
    if (still?.[0] !== id) return undefined
  }
  return Number(id)
}

/** Runs the hook again if somebody else creates or deletes the Entity after it. */
async function upsertHooked(context: Context, plan: Plan, call: Call): Promise<Answer> {
  const { caller, body, query, when } = call
  const { actor } = caller
  if (Array.isArray(body) && signsUp(plan, actor)) await call.signUp(body.length)
  const known = await replayOf(context, call)
  if (known !== undefined) return known
  const hookCaller = hookCallerOf(call)
  const before = (one: unknown) => beforeUpsert(context, plan, hookCaller, { query, when, body: one })
  for (let tries = 1; ; tries++)
    try {
      if (!Array.isArray(body)) {
        const hooked = await before(body)
        return await transactPlanned(context, call, () =>
          upsert(context, plan, actor, { query, when, body, hooked }),
        )
      }
      const hooked = (await beforeEach(body, before)).flatMap((one) => one ?? [])
      return await transactPlanned(context, call, () =>
        upsertMany(context, plan, actor, { query, when, bodies: body, hooked }),
      )
    } catch (error) {
      if (tries >= TRIES || !(error instanceof Failure) || error.code !== 'busy') throw error
    }
}

const ACTIONS = ['create', 'update'] as const

/** The first unique set of the type, for the example. */
function exampleSet({ type }: AboutEntity): string {
  return uniqueSets(type)[0]?.paths.join(',') ?? ''
}

function describeUpsert(about: AboutEntity): Description {
  return {
    summary: `Replace or create ${about.one}`,
    description: `\`match\` names values that are unique. If an Entity has those of the body, it is replaced, as by a PUT to its own path; otherwise it is created. Requests that arrive at the same time make one Entity. Send a list for several as one operation: all of them or none. ${about.access(...ACTIONS)}`,
    query: `?match=${exampleSet(about)}`,
    body: {
      schema: { anyOf: [about.schema('replace'), manyOf(about.schema('replace'))] },
      example: about.sample(about.type),
    },
    answers: [
      {
        ...entitySuccess(about, 200, ''),
        description:
          'Replaced. A list is answered in the same order, without `ETag`; new ones have version 1.',
        headers: ['ETag', 'Takeback-Operation', 'Idempotent-Replay'],
        schema: { anyOf: [about.schema('one'), about.schema('made')] },
      },
      {
        ...entitySuccess(about, 201, 'Created.'),
        headers: ['ETag', 'Takeback-Operation', 'Location', 'Idempotent-Replay'],
      },
    ],
    codes: [
      ...ACTIONS.flatMap((action) => [...about.refusals(action, true), ...hookCodes(about, action)]),
      ...emailCodes(about),
      'busy',
      'stale',
      'disk_full',
    ],
  }
}

export const upsertEntity = entityEndpoint({
  name: 'upsert',
  method: 'PUT',
  path: '/api/{entity}/',
  parameters: ['match', 'If-Match', ...writing],
  plans: 'apart',
  body: 'any',
  rule: { any: ACTIONS },
  shownFor: (type) => uniqueSets(type).length > 0,
  signsUp: (plan) => signsUp(plan),
  describe: describeUpsert,
  async run(context, plan, call) {
    const { caller, body, query, when } = call
    const { actor } = caller
    if (hasHook(plan, 'create') || hasHook(plan, 'update')) return upsertHooked(context, plan, call)
    if (!Array.isArray(body))
      return transactPlanned(context, call, () => upsert(context, plan, actor, { query, when, body }))
    // One sign-up was counted before the body was read.
    if (signsUp(plan, actor)) await call.signUp(body.length)
    return transactPlanned(context, call, () =>
      upsertMany(context, plan, actor, { query, when, bodies: body }),
    )
  },
})
