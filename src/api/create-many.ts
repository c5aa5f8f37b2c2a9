import { budget } from '../budget.ts'
import { isRecord } from '../declare/record.ts'
import { type Errors, Failure, invalid, invalidAt, noteAll, placed } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { uniquesOf } from '../plan/tables/schema.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { noteTakenAt } from '../plan/write/faults.ts'
import { type Act, all } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import { allow, type KeptAnswer, operationOf } from './context.ts'
import { create } from './create.ts'
import { entitySuccess, manyOf } from './description.ts'
import { entityEndpoint } from './endpoint.ts'
import { bindEmailKey, soundOf } from './faults.ts'
import { performOnce, transactOnce } from './once.ts'
import { writing } from './parameters.ts'
import type { Query } from './query.ts'
import { signsUp } from './sign-up.ts'

/** `POST /api/<entity>/` with a list: all of them or none, as one operation. To be run in one transaction. */
export function* createMany(
  plan: Plan,
  actor: Actor,
  bodies: readonly unknown[],
  query: Query,
): Act<KeptAnswer> {
  allow(plan, 'create', actor, true)
  query.refuseAll()
  refuseNumber(bodies.length)
  const { $operation } = operationOf(actor)
  const made = yield* all(bodies.map((body) => settle(createOne(plan, actor, body, $operation))))
  const failures = made.flatMap((one, at) => (one instanceof Failure ? [placed(one, at)] : []))
  if (failures.length > 0) throw together(failures, repeated(plan, actor, bodies))
  const data = made.map((one) => (one instanceof Failure ? '' : one.body))
  return {
    status: 201,
    body: `{"data":[${data.join(',')}]}`,
    headers: { 'Takeback-Operation': $operation },
    shows: made.flatMap((one) => (one instanceof Failure ? [] : one.shows)),
  }
}

/** Refuses an empty list, and one that is too long. */
export function refuseNumber(number: number): void {
  if (number === 0 || number > budget.batchParts)
    throw invalidAt('', `must be a list of 1 to ${budget.batchParts} items, not ${number}`)
}

function* createOne(plan: Plan, actor: Actor, body: unknown, operation: string): Act<KeptAnswer> {
  if (!isRecord(body)) throw invalidAt('', 'must be an object')
  return yield* create(plan, actor, body, { operation })
}

/** Collects the failure of one, so that all failures can be reported together. */
function* settle<T>(act: Act<T>): Act<T | Failure> {
  try {
    return yield* act
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/** Invalid data is reported for all of them at once; any other failure is the answer. */
function together(failures: readonly Failure[], more: Errors): Failure {
  const other = failures.find(({ code }) => code !== 'invalid_data')
  if (other !== undefined) return other
  const all: Errors = new Map()
  for (const { errors } of failures) if (errors !== undefined) noteAll(all, errors)
  // The database named an earlier one of the same list, which does not exist after the refusal.
  for (const path of more.keys()) all.delete(path)
  noteAll(all, more)
  return invalid(all)
}

/** Duplicates of unique values within the list: the database would name an Entity that does not exist. */
function repeated(plan: Plan, actor: Actor, bodies: readonly unknown[]): Errors {
  const errors: Errors = new Map()
  const first = new Map<string, number>()
  for (const [at, body] of bodies.entries()) {
    const params = isRecord(body) ? boundParams(plan, actor, body) : {}
    for (const set of uniquesOf(plan.type)) {
      if (set.some((name) => params[name] == null)) continue
      const key = JSON.stringify([set, ...set.map((name) => String(params[name]))])
      const before = first.get(key)
      if (before === undefined) first.set(key, at)
      else {
        const by = `${before} of the same list`
        noteTakenAt(errors, { paths: set, by, together: set.length, prefix: `${at}.` })
      }
    }
  }
  return errors
}

function boundParams(plan: Plan, actor: Actor, body: unknown): Params {
  const errors: Errors = new Map()
  const params: Params = {}
  plan.bind(plan.view(actor).check('whole', body, errors), params)
  bindEmailKey(plan, params)
  return soundOf(plan, params, errors)
}

/** Creates one Entity or a list. */
export const createEntity = entityEndpoint({
  name: 'create',
  method: 'POST',
  path: '/api/{entity}/',
  parameters: [...writing],
  body: 'any',
  rule: { all: ['create'] },
  signsUp: (plan) => signsUp(plan),
  describe: (about) => ({
    summary: `Create ${about.one}`,
    description: `Send a list to create several as one operation: all of them or none. ${about.access('create')}`,
    body: {
      schema: { anyOf: [about.schema('create'), manyOf(about.schema('create'))] },
      example: about.sample(about.type),
    },
    answers: [
      {
        ...entitySuccess(about, 201, ''),
        description: 'Created. A list is answered in the same order, without `ETag` and `Location`.',
        headers: ['ETag', 'Takeback-Operation', 'Location', 'Idempotent-Replay'],
        schema: { anyOf: [about.schema('one'), about.schema('made')] },
      },
    ],
    codes: [...about.refusals('create', true), 'busy', 'disk_full'],
  }),
  async run(context, plan, call) {
    const { caller, body, query } = call
    if (!Array.isArray(body))
      return performOnce(context, call, () => create(plan, caller.actor, body, { query }))
    // One sign-up was counted before the body was read.
    if (signsUp(plan, caller.actor)) await call.signUp(body.length)
    return transactOnce(context, call, () => createMany(plan, caller.actor, body, query))
  },
})
