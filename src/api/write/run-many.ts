import { type Errors, Failure, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Act, pause } from '../../store/act.ts'
import { type Answer, type Context, type Preconditions, TRIES } from '../context.ts'
import { replayOf } from '../idempotency.ts'
import { perform } from '../perform.ts'
import type { HookCaller } from './hook-run.ts'
import { hookCallerOf } from './hooks.ts'
import { ManyFailures } from './many-patch.ts'
import {
  answerMany,
  type DoneMany,
  type ManyCall,
  type ManyRequest,
  type Matched,
  MovedMany,
  matchedBy,
} from './matching.ts'
import { asPlanned } from './preview.ts'

/** The results of hooks, by the id of the Entity. */
export type HookedMany<T> = ReadonlyMap<number, T>

/** A write by a filter. `T` is the result of a hook for one Entity, `P` is what is to be written. */
interface ManyWrite<T, P> {
  readonly request: ManyRequest
  readonly action: 'update' | 'delete'
  /** Runs the hook for one Entity; undefined if there is none. */
  readonly before:
    | ((about: { id: number; when: Preconditions }, hookCaller: HookCaller) => Promise<T>)
    | undefined
  /**
   * Prepares the changes. Throws `MovedMany` if one of the Entities is no longer at its version. `run` performs acts
   * that only read.
   */
  prepare(
    found: readonly Matched[],
    hooked: HookedMany<T> | undefined,
    run: <A>(act: Act<A>) => Promise<A>,
  ): Promise<P>
  /** Writes the changes. Throws `MovedMany` as well. */
  act(prepared: P): Act<DoneMany>
}

/**
 * Finds the Entities, runs hooks, prepares the changes, then writes them. Whatever may take long comes before the
 * transaction, so that nobody waits for it. If others have changed one of the Entities meanwhile, it begins again.
 */
export async function runMany<T, P>(
  context: Context,
  plan: Plan,
  call: ManyCall,
  { request, action, before, prepare, act }: ManyWrite<T, P>,
): Promise<Answer> {
  call.waitLong()
  const known = await replayOf(context, call)
  if (known !== undefined) return known
  const hookCaller = hookCallerOf(call)
  const run = before && ((about: Parameters<typeof before>[0]) => before(about, hookCaller))
  const now = <A>(one: Act<A>) => perform(context.store, asPlanned(request.plan, one), call.signal)
  for (let tries = 1; tries <= TRIES; tries++) {
    const found = await now(matchedBy(plan, call.caller.actor, action, request.filter))
    try {
      const hooked = run && (await runHooks(plan.type.name, found, run))
      const prepared = await prepare(found, hooked, now)
      return await answerMany(context, call, request, { matched: found.length, act: () => act(prepared) })
    } catch (error) {
      if (!(error instanceof MovedMany)) throw error
    }
    await perform(context.store, pause(Math.random() * 10 * tries))
  }
  throw new Failure('busy')
}

/** Runs the hook for each Entity. All invalid data is reported together, as in a list. */
async function runHooks<T>(
  type: string,
  found: readonly Matched[],
  run: (about: { id: number; when: Preconditions }) => Promise<T>,
): Promise<HookedMany<T>> {
  const hooked = new Map<number, T>()
  const failures = new ManyFailures(type)
  for (const { id, version } of found)
    try {
      hooked.set(id, await run({ id, when: { ifMatch: `|${version}|` } }))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      if (error.code === 'stale' || error.code === 'not_found') throw new MovedMany()
      if (error.code !== 'invalid_data' || error.errors === undefined) throw refusedBy(error, `${type}/${id}`)
      failures.add(id, error.errors)
    }
  const errors: Errors = new Map()
  failures.addTo(errors)
  if (errors.size > 0) throw invalid(errors)
  return hooked
}

/** Adds the name of the Entity to the words of the hook that refused it. */
function refusedBy(failure: Failure, entity: string): Failure {
  if (failure.code !== 'forbidden') return failure
  const errors: Errors = new Map([['filter', [`matches ${entity}, for which it is refused`]]])
  const { message, denied } = failure
  return new Failure('forbidden', { message, errors, cause: failure, ...(denied && { denied }) })
}
