import { SKEW_MS } from '../clock.ts'
import { Failure } from '../errors.ts'
import { Marks } from '../journal/marks.ts'
import type { Plan } from '../plan/compile.ts'
import { cutPlaceKey, type RetentionPlan } from '../plan/past/retention.ts'
import type { Params } from '../store/dialect.ts'
import { Lease } from '../store/lease.ts'
import { ClockWatch } from './clock-watch.ts'
import type { Context } from './context.ts'
import { erase } from './erase.ts'
import { keptNow } from './once.ts'
import { perform } from './perform.ts'
import { purge } from './remove.ts'

const EVERY_MS = 10 * 60_000
/** After this time, an unfinished purge was abandoned by its server. */
const PURGE_MS = 60_000
/** The pause between two steps, for other work. */
const PAUSE_MS = 20

/** How far the clock may be off the database's, and ahead of the last pass, before nothing is erased. */
const APART_MS = 60 * 60_000
const JUMP_MS = 7 * 24 * 60 * 60_000

/** Erases data that is older than declared: one server at a time, in small steps. */
export class Retention {
  readonly #context: Context
  readonly #plan: RetentionPlan
  readonly #lease: Lease
  readonly #trash: readonly Plan[]
  #timer: Timer | undefined
  #stopped = false
  #underWay = false
  #doubted = false

  constructor(context: Context, plan: RetentionPlan) {
    this.#context = context
    this.#plan = plan
    this.#lease = new Lease(context.store, 'keeper')
    this.#trash = [...context.plans.values()].filter(({ type }) => type.retention.trash !== undefined)
  }

  /** Runs a pass at intervals while the server runs. */
  start(): void {
    const { health, observer, serviceTime, store } = this.#context
    const watch = new ClockWatch(store, observer)
    const run = async () => {
      try {
        await serviceTime.keep()
        await watch.look()
        const doubt = await this.passUnlessInDoubt()
        health.note('retention', doubt === '' ? undefined : new Error(doubt))
      } catch (error) {
        // A stopping server closes the database.
        if (this.#stopped) return
        health.note('retention', error)
        observer.emit({ kind: 'work_failed', work: 'retention', error })
      }
    }
    this.#timer = setInterval(run, EVERY_MS)
    this.#timer.unref()
    setTimeout(run, PAUSE_MS).unref()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  /** A wrong clock must not erase anything: after a jump, nothing is erased until somebody confirms the clock. */
  async passUnlessInDoubt(now = Date.now()): Promise<string> {
    const doubt = this.#erases ? await this.#doubtOf(now) : ''
    if (doubt !== '' && !this.#doubted) this.#context.observer.emit({ kind: 'clock_doubted', doubt })
    this.#doubted = doubt !== ''
    if (this.#doubted) return doubt
    const { leased } = await this.pass(now)
    if (leased) await this.#note(now)
    return ''
  }

  /** Whether any retention is declared; otherwise there are only kept answers to erase. */
  get #erases(): boolean {
    return this.#trash.length > 0 || this.#plan.types.length > 0
  }

  /** From here on the clock is trusted. */
  async confirm(now = Date.now()): Promise<void> {
    await this.#context.store.write(this.#plan.confirm, { $now: new Date(now).toISOString() })
  }

  /** That there was a pass, and how far the journal has come. */
  async #note(now: number): Promise<void> {
    const time = new Date(now).toISOString()
    await this.#context.store.write(this.#plan.keepPassed, { $now: time })
    if (!this.#erases) return
    const { marks, last } = await this.#readMarks()
    const next = marks.with({ time, seq: last })
    if (next !== marks) await this.#context.store.write(this.#plan.keepMarks, { $marks: String(next) })
  }

  async #readMarks(): Promise<{ marks: Marks; last: number }> {
    const [row = []] = await this.#context.store.read(this.#plan.marks, {})
    const [text, last] = row
    return { marks: Marks.read(text == null ? undefined : String(text)), last: Number(last ?? 0) }
  }

  /** Why the clock is not trusted; empty if it is. */
  async #doubtOf(now: number): Promise<string> {
    const time = new Date(now).toISOString()
    const [row = []] = await this.#context.store.read(this.#plan.clocks, { $at: time })
    const [database, passed, changed] = row.map((text) => (text === null ? undefined : timeIn(String(text))))
    if (database !== undefined && Math.abs(database - now) > APART_MS)
      return `This server's clock says ${time}, the database's ${new Date(database).toISOString()}`
    const last = passed ?? changed
    if (last === undefined || now - last <= JUMP_MS) return ''
    return `The clock says ${time}, but the last time that it was believed was ${new Date(last).toISOString()}`
  }

  /** One pass over everything that has become old; returns how much was erased. One runs at a time, over all servers. */
  async pass(now = Date.now()): Promise<{ purged: number; leased: boolean }> {
    if (this.#underWay || this.#stopped) return { purged: 0, leased: false }
    this.#underWay = true
    // A step may take longer than the lease lasts.
    const renewal = setInterval(() => this.#takeLease().catch(() => {}), Lease.RENEW_MS)
    renewal.unref()
    try {
      if (!(await this.#anyToDo(now)) || !(await this.#takeLease())) return { purged: 0, leased: false }
      try {
        return { purged: await this.#clear(now), leased: true }
      } finally {
        clearInterval(renewal)
        if (!this.#stopped) await this.#lease.giveBack()
      }
    } finally {
      clearInterval(renewal)
      this.#underWay = false
    }
  }

  async #clear(now: number): Promise<number> {
    let purged = 0
    await this.#finishPurges(now)
    await this.#clearAnswers()
    const { marks } = await this.#readMarks()
    for (const plan of this.#trash) purged += await this.#empty(plan, now, marks)
    for (const walk of await this.#walks(now)) await this.#cut(walk, marks)
    return purged
  }

  /** Without declared retention, there are only kept answers and interrupted purges. */
  async #anyToDo(now: number): Promise<boolean> {
    if (this.#erases) return true
    const { store, answers, purges } = this.#context
    const found = await Promise.all([
      store.read(answers.old, keptNow(this.#context)),
      store.read(purges.unfinished, begunBefore(now)),
    ])
    return found.some((rows) => rows.length > 0)
  }

  /** Finishes what a server that is gone has begun. */
  async #finishPurges(now: number): Promise<void> {
    const { store, purges, plans } = this.#context
    for (const [begun] of await store.read(purges.unfinished, begunBefore(now))) {
      if (!(await this.#takeLease())) return
      await perform(store, erase(this.#context, String(begun), plans.values()))
    }
  }

  async #clearAnswers(): Promise<void> {
    const { store, answers } = this.#context
    while ((await store.write(answers.clear, keptNow(this.#context))).done && (await this.#takeLease()))
      await Bun.sleep(PAUSE_MS)
  }

  /** Takes the lease, or renews it. */
  async #takeLease(): Promise<boolean> {
    return !this.#stopped && (await this.#lease.take())
  }

  async #empty(plan: Plan, now: number, marks: Marks): Promise<number> {
    const before = new Date(now - (plan.type.retention.trash ?? 0)).toISOString()
    const ahead = new Date(now + SKEW_MS).toISOString()
    let purged = 0
    for (let after: Params = { $deletion: '', $id: 0 }; ; ) {
      const rows = await this.#context.store.read(plan.trash.next, after)
      for (const [id, , at] of rows) {
        if (String(at) > before && String(at) <= ahead) continue
        if (!(await this.#isOld(plan, { id: Number(id), at: String(at), before }, marks))) continue
        if (!(await this.#takeLease())) return purged
        if (await this.#purge(plan, Number(id))) purged++
        await Bun.sleep(PAUSE_MS)
      }
      if (rows.length === 0 || !(await this.#takeLease())) return purged
      const [id = 0, deletion = ''] = rows.at(-1) ?? []
      after = { $deletion: deletion, $id: id }
    }
  }

  /** By its own time, unless it was deleted later for certain; or by its place, where a wrong clock gave it a time to come. */
  async #isOld(
    plan: Plan,
    { id, at, before }: { id: number; at: string; before: string },
    marks: Marks,
  ): Promise<boolean> {
    const [row] = await this.#context.store.read(plan.trash.place, { $id: id })
    if (row === undefined) return at <= before
    const seq = Number(row[0])
    return seq <= marks.surelyBefore(before) || (at <= before && seq <= marks.surelyAfter(before))
  }

  async #purge(plan: Plan, id: number): Promise<boolean> {
    try {
      const { operation, entities } = await purge(this.#context, plan, id)
      this.#context.observer.emit({ kind: 'purged', entity: plan.type.name, id, entities, operation })
      return true
    } catch (error) {
      // Others still refer to it, or it was purged with another one: the next pass tries again.
      if (!(error instanceof Failure) || error.code === 'unavailable') throw error
      return false
    }
  }

  /** Types with the same retention and the same progress are processed together. */
  async #walks(now: number): Promise<Walk[]> {
    const { types, places } = this.#plan
    if (types.length === 0) return []
    const known = new Map(
      (await this.#context.store.read(places, {})).map(([key, place]) => [key, Number(place)]),
    )
    const walks = new Map<string, Walk & { types: string[] }>()
    for (const { name, retention } of types) {
      const after = known.get(cutPlaceKey(name)) ?? 0
      const before = new Date(now - (retention.journal ?? 0)).toISOString()
      const walk = walks.get(`${after} ${before}`) ?? { after, before, types: [] }
      walk.types.push(name)
      walks.set(`${after} ${before}`, walk)
    }
    return [...walks.values()]
  }

  /** Continues where the last pass ended. Each step stores its position, so that a pass that fails loses nothing. */
  async #cut({ after: from, before, types }: Walk, marks: Marks): Promise<void> {
    const old = { $before: before, $sure: marks.surelyBefore(before), $last: marks.surelyAfter(before) }
    for (let after = from; ; ) {
      if (!(await this.#takeLease())) return
      const [row] = await this.#context.store.read(this.#plan.next, { ...old, $after: after })
      if (row?.[0] == null) return
      const upto = Number(row[0])
      await this.#context.store.write(this.#plan.cut(types), { ...old, $after: after, $upto: upto })
      after = upto
      await Bun.sleep(PAUSE_MS)
    }
  }
}

/** Through the journal, behind a place, up to a time. */
interface Walk {
  readonly after: number
  readonly before: string
  readonly types: readonly string[]
}

/** As JSON or plain. */
function timeIn(text: string): number {
  return Date.parse(text.replaceAll('"', ''))
}

function begunBefore(now: number): Params {
  return {
    $before: new Date(now - PURGE_MS).toISOString(),
    $after: new Date(now + PURGE_MS).toISOString(),
  }
}
