import { randomUUID } from 'node:crypto'
import { Failure } from '../errors.ts'
import { KEPT_MS } from '../plan/answers.ts'
import type { Plan } from '../plan/compile.ts'
import { beforeOf, type RetentionPlan } from '../plan/retention.ts'
import type { Bag } from '../store/dialect.ts'
import type { Context } from './context.ts'
import { purge } from './remove.ts'

const EVERY_MS = 10 * 60_000
/** How long a turn lasts that is not taken anew: its server is gone then. */
const TURN_MS = 60_000
/** Between two steps, in which others have their turn. */
const PAUSE_MS = 20

function expiredAt(now: number): Bag {
  return { $expired: new Date(now - KEPT_MS).toISOString() }
}

/** Clears out what is older than it is to be kept: by one server at a time, in small steps. */
export class Retention {
  readonly #context: Context
  readonly #plan: RetentionPlan
  readonly #me = randomUUID()
  readonly #trash: readonly Plan[]
  #timer: Timer | undefined
  #stopped = false

  constructor(context: Context, plan: RetentionPlan) {
    this.#context = context
    this.#plan = plan
    this.#trash = [...context.plans.values()].filter(({ type }) => type.retention.trash !== undefined)
  }

  /** Now and then, for as long as the server runs. */
  start(onFailure: (error: unknown) => void): void {
    const run = () =>
      this.pass().catch((error) => {
        // Whoever stops the server closes the database under us.
        if (!this.#stopped) onFailure(error)
      })
    this.#timer = setInterval(run, EVERY_MS)
    this.#timer.unref()
    setTimeout(run, PAUSE_MS).unref()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  /** Once through all of it; how much went. */
  async pass(now = Date.now()): Promise<{ purged: number; turn: boolean }> {
    let purged = 0
    if (this.#stopped || !(await this.#anyToDo(now)) || !(await this.#takeTurn()))
      return { purged, turn: false }
    await this.#clearAnswers(now)
    for (const plan of this.#trash) purged += await this.#empty(plan, now)
    await this.#cut(now)
    await this.#context.store.write(this.#plan.giveTurn, { $me: `% ${this.#me}` })
    return { purged, turn: true }
  }

  /** Where everything is kept, there are only answers to clear out. */
  async #anyToDo(now: number): Promise<boolean> {
    if (this.#trash.length > 0 || this.#plan.types.length > 0) return true
    const { store, answers } = this.#context
    return (await store.read(answers.old, expiredAt(now))).length > 0
  }

  async #clearAnswers(now: number): Promise<void> {
    const { store, answers } = this.#context
    while ((await store.write(answers.clear, expiredAt(now))).done && (await this.#takeTurn()))
      await Bun.sleep(PAUSE_MS)
  }

  async #takeTurn(): Promise<boolean> {
    if (this.#stopped) return false
    const now = Date.now()
    const until = new Date(now + TURN_MS).toISOString()
    const outcome = await this.#context.store.write(this.#plan.takeTurn, {
      $mine: `${until} ${this.#me}`,
      $me: `% ${this.#me}`,
      $now: new Date(now).toISOString(),
    })
    return outcome.done
  }

  async #empty(plan: Plan, now: number): Promise<number> {
    const before = new Date(now - (plan.type.retention.trash ?? 0)).toISOString()
    let purged = 0
    for (const [id] of await this.#context.store.read(plan.trash.before, { $before: before })) {
      if (!(await this.#takeTurn())) return purged
      try {
        await purge(this.#context, plan, Number(id))
        purged++
      } catch (error) {
        // Others still refer to it, or it went with another one: perhaps the next time.
        if (!(error instanceof Failure) || error.code === 'unavailable') throw error
      }
      await Bun.sleep(PAUSE_MS)
    }
    return purged
  }

  async #cut(now: number): Promise<void> {
    const { types, cut, next } = this.#plan
    if (cut.length === 0) return
    const times = Object.fromEntries(
      types.map(({ name, retention }) => [
        beforeOf(name),
        new Date(now - (retention.journal ?? 0)).toISOString(),
      ]),
    )
    for (let after = 0; ; ) {
      if (!(await this.#takeTurn())) return
      const [row] = await this.#context.store.read(next, { $after: after })
      const upto = row?.[0] ?? null
      if (upto === null) return
      await this.#context.store.write(cut, { ...times, $after: after, $upto: upto })
      after = Number(upto)
      await Bun.sleep(PAUSE_MS)
    }
  }
}
