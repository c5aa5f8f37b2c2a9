import { budget } from '../../budget.ts'
import { isRecord } from '../../declare/record.ts'
import { addErrors, type Errors, Failure, invalid, invalidAt, placed } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { uniquesOf } from '../../plan/tables/schema.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { addTakenAt } from '../../plan/write/faults.ts'
import { type Act, all } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { KeptAnswer } from '../context.ts'
import { bindEmailKey, soundOf } from '../faults.ts'

/** Refuses a list that is empty or too long. */
export function refuseNumber(number: number): void {
  if (number === 0 || number > budget.batchParts)
    throw invalidAt('', `must be a list of 1 to ${budget.batchParts} items, not ${number}`)
}

/** Returns the failure of an act instead of throwing it, so that all failures can be reported together. */
export function* settle<T>(act: Act<T>): Act<T | Failure> {
  try {
    return yield* act
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/**
 * Runs the acts of a list, all of which must succeed. Answers with all Entities in order, and the operation if anything
 * was written. `more` finds other errors of the list, which may be the reason for a failure.
 */
export function* answerAll(acts: readonly Act<KeptAnswer>[], more: () => Errors): Act<KeptAnswer> {
  const made = yield* all(acts.map(settle))
  const failures = made.flatMap((one, at) => (one instanceof Failure ? [placed(one, at)] : []))
  if (failures.length > 0) throw together(failures, more())
  const answers = made.flatMap((one) => (one instanceof Failure ? [] : [one]))
  const written = answers.find(({ headers }) => headers?.['Takeback-Operation'] !== undefined)
  return {
    status: 200,
    body: `{"data":[${answers.map(({ body }) => body).join(',')}]}`,
    headers: {
      ...(written?.headers && { 'Takeback-Operation': written.headers['Takeback-Operation'] ?? '' }),
    },
    shows: answers.flatMap(({ shows }) => shows),
  }
}

/** Reports invalid data of all items at once. Any other failure is the whole answer. */
export function together(failures: readonly Failure[], more: Errors): Failure {
  const other = failures.find(({ code }) => code !== 'invalid_data')
  if (other !== undefined) return other
  const all: Errors = new Map()
  for (const { errors } of failures) if (errors !== undefined) addErrors(all, errors)
  // The database named an earlier item of the same list, which does not exist after the refusal.
  for (const path of more.keys()) all.delete(path)
  addErrors(all, more)
  return invalid(all)
}

/** Finds duplicate values in the list that must be unique: the database would name an Entity that does not exist. */
export function repeatedValues(plan: Plan, actor: Actor, bodies: readonly unknown[]): Errors {
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
        addTakenAt(errors, { paths: set, by, together: set.length, prefix: `${at}.` })
      }
    }
  }
  return errors
}

export function boundParams(plan: Plan, actor: Actor, body: unknown): Params {
  const errors: Errors = new Map()
  const params: Params = {}
  plan.bind(plan.view(actor).check('whole', body, errors), params)
  bindEmailKey(plan, params)
  return soundOf(plan, params, errors)
}
