import { budget } from '../budget.ts'
import { invalidAt } from '../errors.ts'
import { type Act, type Ask, type Effect, NOTHING, type Run, type Work } from '../store/act.ts'
import type { Outcome } from '../store/step.ts'
import type { Store } from '../store/store.ts'

/**
 * One thing after the other: each write is a transaction of its own, which others may come between. Once the first is
 * done, the rest is too, whether or not anybody still waits for the answer.
 */
export async function perform<T>(store: Store, act: Act<T>, signal?: AbortSignal): Promise<T> {
  let next = act.next()
  let until = signal
  while (!next.done) {
    const ask = next.value
    const outcome = await reply(store, ask, until)
    if (ask.kind === 'write' && outcome.done) until = undefined
    next = act.next(outcome)
  }
  return next.value
}

function reply(store: Store, ask: Ask | Effect, signal: AbortSignal | undefined): Promise<Outcome> {
  return ask.kind === 'write' ? store.write(ask.steps, ask.params, signal) : replyAside(store, ask, signal)
}

async function replyAside(
  store: Store,
  ask: Exclude<Ask | Effect, { kind: 'write' }>,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  if (ask.kind === 'read') return { done: true, rows: await store.read(ask.statement, ask.params) }
  if (ask.kind === 'work') return { done: true, rows: [[await ask.run(signal)]] }
  if (ask.kind === 'together')
    ask.outcomes.push(...(await Promise.all(ask.asks.map((one) => reply(store, one, signal)))))
  else await (ask.kind === 'pause' ? Bun.sleep(ask.ms) : ask.run())
  return NOTHING
}

/**
 * All of it in one transaction, or nothing. What takes its time is not waited for while others wait for us: the first
 * time through is a rehearsal then, which leaves nothing behind but what there is to work on.
 */
export async function transact<T>(store: Store, make: () => Act<T>, signal?: AbortSignal): Promise<T> {
  const known = new Map<string, string>()
  for (;;) {
    let stage = new Stage(known)
    try {
      const result = await store.transact(() => {
        stage = new Stage(known)
        return stage.play(make())
      }, signal)
      for (const run of stage.after) await run()
      return result
    } catch (error) {
      if (!(error instanceof Rehearsal)) throw error
      await prepare(stage.missing, known, signal)
    }
  }
}

/** Runs it in a transaction that is rolled back, to show what would happen. */
export async function rehearse<T>(store: Store, make: () => Act<T>): Promise<T> {
  const played: { result: T }[] = []
  try {
    await transact(store, function* (): Act<never> {
      played.push({ result: yield* make() })
      throw new Rehearsed()
    })
  } catch (error) {
    if (!(error instanceof Rehearsed)) throw error
  }
  const last = played.at(-1)
  if (last === undefined) throw new Error('a rehearsal has ended without a result')
  return last.result
}

class Rehearsed extends Error {}

/** A few at a time, so that others have their turn. */
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

class Rehearsal extends Error {}

/** One way through an act, inside a transaction. */
class Stage {
  readonly missing = new Map<string, Run>()
  readonly after: (() => void | Promise<void>)[] = []
  readonly #known: ReadonlyMap<string, string>
  #works = 0

  constructor(known: ReadonlyMap<string, string>) {
    this.#known = known
  }

  /**
   * Lets through what is for the Store. Before the first write there is nothing to rehearse: what would be written would
   * only use up ids.
   */
  *play<T>(act: Act<T>): Work<T> {
    let next = act.next()
    let writes = false
    while (!next.done) {
      const ask = next.value
      if (!isEffect(ask) && ask.kind !== 'read') {
        if (!writes && this.missing.size > 0) throw new Rehearsal()
        writes = true
      }
      next = act.next(isEffect(ask) ? this.#reply(ask) : yield ask)
    }
    if (this.missing.size > 0) throw new Rehearsal()
    return next.value
  }

  #reply(ask: Effect): Outcome {
    if (ask.kind === 'after') this.after.push(ask.run)
    if (ask.kind !== 'work') return NOTHING
    // By its place too: what comes of the same twice need not be the same.
    const key = `${this.#works++} ${ask.on}`
    const found = this.#known.get(key)
    if (found === undefined) this.missing.set(key, ask.run)
    return { done: true, rows: [[found ?? '']] }
  }
}

function isEffect(ask: Ask | Effect): ask is Effect {
  return ask.kind === 'pause' || ask.kind === 'work' || ask.kind === 'after'
}
