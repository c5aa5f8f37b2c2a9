import { budget } from '../budget.ts'
import { invalidAt } from '../errors.ts'
import { type Act, type Effect, NOTHING, type Run, type StoreAct, type StoreRequest } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import type { Outcome, Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

/**
 * Runs an act step by step: each write is its own transaction, and others may write in between. After the first write,
 * the rest is done even if the client has disconnected.
 */
export async function perform<T>(store: Store, act: Act<T>, signal?: AbortSignal): Promise<T> {
  let next = act.next()
  let until = signal
  while (!next.done) {
    const request = next.value
    const outcome = await reply(store, request, until)
    if (request.kind === 'write' && outcome.done) until = undefined
    next = act.next(outcome)
  }
  return next.value
}

function reply(
  store: Store,
  request: StoreRequest | Effect,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  return request.kind === 'write'
    ? store.write(request.steps, request.params, signal)
    : replyAside(store, request, signal)
}

async function replyAside(
  store: Store,
  request: Exclude<StoreRequest | Effect, { kind: 'write' }>,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  if (request.kind === 'read')
    return { done: true, rows: await store.read(request.statement, request.params) }
  if (request.kind === 'work') return { done: true, rows: [[await request.run(signal)]] }
  if (request.kind === 'together')
    request.outcomes.push(...(await Promise.all(request.requests.map((one) => reply(store, one, signal)))))
  else await (request.kind === 'pause' ? Bun.sleep(request.ms) : request.run())
  return NOTHING
}

/**
 * Runs an act in one transaction. Slow work must not run while others wait for the transaction, so a first run, which
 * is rolled back, finds out what work there is.
 */
export async function transact<T>(store: Store, make: () => Act<T>, signal?: AbortSignal): Promise<T> {
  const known = new Map<string, string>()
  for (;;) {
    let attempt = new TransactionRun(known)
    try {
      const result = await store.transact(() => {
        attempt = new TransactionRun(known)
        return attempt.run(make())
      }, signal)
      for (const run of attempt.after) await run()
      return result
    } catch (error) {
      if (!(error instanceof ResultsMissing)) throw error
      await prepare(attempt.missing, known, signal)
    }
  }
}

/**
 * Runs an act in a transaction that is rolled back, to show what would happen. Slow work is not done: its result, the
 * hash of a secret, would be rolled back too.
 */
export async function performDryRun<T>(store: Store, make: () => Act<T>): Promise<T> {
  const done: { result: T }[] = []
  const act = function* (): Act<never> {
    done.push({ result: yield* make() })
    throw new DryRunEnded()
  }
  try {
    await store.transact(() => new TransactionRun({ get: () => 'rehearsed' }).run(act()))
  } catch (error) {
    if (!(error instanceof DryRunEnded)) throw error
  }
  const last = done.at(-1)
  if (last === undefined) throw new Error('a dry run has ended without a result')
  return last.result
}

/** Adds steps to each transaction of an act that writes an operation: both commit or neither. */
export function* withSteps<T>(
  act: Act<T>,
  stepsFor: (operation: string) => { readonly steps: readonly Step[]; readonly params: Params },
): Act<T> {
  let next = act.next()
  while (!next.done) {
    const request = next.value
    if (request.kind !== 'write') next = act.next(yield request)
    else {
      const { steps, params } = stepsFor(String(request.params.$operation))
      const both = {
        ...request,
        steps: [...steps, ...request.steps],
        params: { ...request.params, ...params },
      }
      next = act.next(yield both)
    }
  }
  return next.value
}

class DryRunEnded extends Error {}

/** Does slow work, a few pieces at a time, so that other requests can run in between. */
async function prepare(
  missing: ReadonlyMap<string, Run>,
  known: Map<string, string>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (missing.size > budget.batchSecrets)
    throw invalidAt(
      '',
      `has ${missing.size} passwords or other secrets: at most ${budget.batchSecrets} are taken in one go`,
    )
  const left = missing.entries()
  let failed = false
  const work = async () => {
    for (const [key, run] of left) {
      if (failed) return
      try {
        known.set(key, await run(signal))
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

const AT_ONCE = 2

class ResultsMissing extends Error {}

/** The results of slow work. */
type Results = Pick<ReadonlyMap<string, string>, 'get'>

/** One run of an act inside a transaction. */
class TransactionRun {
  readonly missing = new Map<string, Run>()
  readonly after: (() => void | Promise<void>)[] = []
  readonly #known: Results
  #works = 0

  constructor(known: Results) {
    this.#known = known
  }

  /** Passes requests on to the Store. Ends before the first write if results are missing: it would only use up ids. */
  *run<T>(act: Act<T>): StoreAct<T> {
    let next = act.next()
    let writes = false
    while (!next.done) {
      const request = next.value
      if (!isEffect(request) && request.kind !== 'read') {
        if (!writes && this.missing.size > 0) throw new ResultsMissing()
        writes = true
      }
      next = act.next(isEffect(request) ? this.#reply(request) : yield request)
    }
    if (this.missing.size > 0) throw new ResultsMissing()
    return next.value
  }

  #reply(request: Effect): Outcome {
    if (request.kind === 'after') this.after.push(request.run)
    if (request.kind !== 'work') return NOTHING
    // The key contains a counter, since the same work done twice may have different results.
    const key = `${this.#works++} ${request.on}`
    const found = this.#known.get(key)
    if (found === undefined) this.missing.set(key, request.run)
    return { done: true, rows: [[found ?? '']] }
  }
}

function isEffect(request: StoreRequest | Effect): request is Effect {
  return request.kind === 'pause' || request.kind === 'work' || request.kind === 'after'
}
