import { SKEW_MS } from '../../clock.ts'
import { Failure } from '../../errors.ts'
import { Marks } from '../../journal/marks.ts'
import type { Plan } from '../../plan/compile.ts'
import { compileRetention, cutPlaceKey, type RetentionPlan } from '../../plan/past/retention.ts'
import type { Params } from '../../store/dialect.ts'
import { type Job, Postponed } from '../../work/job.ts'
import type { Recurring } from '../../work/recurring.ts'
import type { Context } from '../context.ts'
import { keptNow } from '../idempotency.ts'
import { ClockWatch } from '../limits/clock-watch.ts'
import { perform } from '../perform.ts'
import { purge } from '../write/remove.ts'
import { erase } from './erase.ts'

/** The name of this background work. */
export const RETENTION = 'retention'

const EVERY_MS = 10 * 60_000
/** An unfinished purge of this age was abandoned by its server. */
const PURGE_MS = 60_000

/** Nothing is erased if the clock is this far off the database's, or `JUMP_MS` ahead of the last pass. */
const APART_MS = 60 * 60_000
const JUMP_MS = 7 * 24 * 60 * 60_000

/** Retention as background work. */
export function retentionWork(context: Context): Recurring {
  const retention = new Retention(context)
  const watch = new ClockWatch(context.store, context.observer)
  return {
    name: RETENTION,
    every: EVERY_MS,
    async run(job) {
      await context.serviceTime.keep()
      await context.sessions.clear(job.store)
      if (context.settings.secrets.length > 1) await context.factors.reseal(job)
      await watch.check()
      await retention.passUnlessInDoubt(job)
    },
  }
}

/** Erases data that is older than declared, in small steps. */
export class Retention {
  readonly #context: Context
  readonly #plan: RetentionPlan
  readonly #trash: readonly Plan[]
  #doubted = false

  constructor(context: Context) {
    this.#context = context
    this.#plan = compileRetention(context.model, context.store.dialect)
    this.#trash = [...context.plans.values()].filter(({ type }) => type.retention.trash !== undefined)
  }

  /** A wrong clock must not erase anything. After a jump this throws a Postponed, until somebody confirms the clock. */
  async passUnlessInDoubt(job: Job, now = Date.now()): Promise<void> {
    const doubt = this.#erases ? await this.#doubtOf(now) : ''
    if (doubt !== '' && !this.#doubted) this.#context.observer.emit({ kind: 'clock_doubted', doubt })
    this.#doubted = doubt !== ''
    if (this.#doubted) throw new Postponed(doubt)
    await this.pass(job, now)
    if (this.#erases) await this.#recordPass(now)
  }

  /** Whether any retention is declared. If not, only kept answers are erased. */
  get #erases(): boolean {
    return this.#trash.length > 0 || this.#plan.types.length > 0
  }

  /** Trusts the clock from now on. */
  async confirm(now = Date.now()): Promise<void> {
    await this.#context.store.write(this.#plan.confirm, { $now: new Date(now).toISOString() })
  }

  /** Records the time of a pass, and how far the journal has come. */
  async #recordPass(now: number): Promise<void> {
    const time = new Date(now).toISOString()
    await this.#context.store.write(this.#plan.keepPassed, { $now: time })
    const { marks, last } = await this.#readMarks()
    const next = marks.with({ time, seq: last })
    if (next !== marks) await this.#context.store.write(this.#plan.keepMarks, { $marks: String(next) })
  }

  async #readMarks(): Promise<{ marks: Marks; last: number }> {
    const [row = []] = await this.#context.store.read(this.#plan.marks, {})
    const [text, last] = row
    return { marks: Marks.read(text == null ? undefined : String(text)), last: Number(last ?? 0) }
  }

  /** Returns why the clock is not trusted; empty if it is. */
  async #doubtOf(now: number): Promise<string> {
    const time = new Date(now).toISOString()
    const [row = []] = await this.#context.store.read(this.#plan.clocks, { $at: time })
    const [database, passed, changed] = row.map((text) => (text === null ? undefined : timeIn(String(text))))
    if (database !== undefined && Math.abs(database - now) > APART_MS)
      return `This server's clock says ${time}, the database's ${new Date(database).toISOString()}`
    const last = passed ?? changed
    if (last === undefined || now - last <= JUMP_MS) return ''
    return `The clock says ${time}, but the last time that it was trusted was ${new Date(last).toISOString()}`
  }

  /** Makes one pass over all data that is too old. Returns how many Entities were purged. */
  async pass(job: Job, now = Date.now()): Promise<number> {
    // Everything is written through the job's store.
    const context = { ...this.#context, store: job.store }
    const { marks } = await this.#readMarks()
    const pass = { context, job, now, marks }
    let purged = 0
    await finishPurges(pass)
    await clearAnswers(pass)
    for (const plan of this.#trash) purged += await empty(pass, plan)
    for (const walk of await this.#walks(pass)) await this.#cut(pass, walk)
    return purged
  }

  /** Types with the same retention and the same progress are processed together. */
  async #walks({ context, now }: Pass): Promise<Walk[]> {
    const { types, places } = this.#plan
    if (types.length === 0) return []
    const known = new Map((await context.store.read(places, {})).map(([key, place]) => [key, Number(place)]))
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

  /** Erases from where the last pass ended. Each step stores its position, so a failed pass loses nothing. */
  async #cut({ context, job, marks }: Pass, { after: from, before, types }: Walk): Promise<void> {
    const old = { $before: before, $sure: marks.surelyBefore(before), $last: marks.surelyAfter(before) }
    for (let after = from; ; await job.pause()) {
      const [row] = await context.store.read(this.#plan.next, { ...old, $after: after })
      if (row?.[0] == null) return
      const upto = Number(row[0])
      await context.store.write(this.#plan.cut(types), { ...old, $after: after, $upto: upto })
      after = upto
    }
  }
}

/** One pass, with its time and what it works with. */
interface Pass {
  readonly context: Context
  readonly job: Job
  readonly now: number
  readonly marks: Marks
}

/** A part of the journal to erase: after a position, before a time. */
interface Walk {
  readonly after: number
  readonly before: string
  readonly types: readonly string[]
}

/** Finishes the purges of servers that are gone. */
async function finishPurges({ context, job, now }: Pass): Promise<void> {
  const { store, purges, plans } = context
  for (const [begun] of await store.read(purges.unfinished, begunBefore(now))) {
    await perform(store, erase(context, String(begun), plans.values()))
    await job.pause()
  }
}

async function clearAnswers({ context, job }: Pass): Promise<void> {
  const { store, answers } = context
  while ((await store.write(answers.clear, keptNow(context))).done) await job.pause()
}

async function empty(pass: Pass, plan: Plan): Promise<number> {
  const { context, job, now } = pass
  const before = new Date(now - (plan.type.retention.trash ?? 0)).toISOString()
  const ahead = new Date(now + SKEW_MS).toISOString()
  let purged = 0
  for (let after: Params = { $deletion: '', $id: 0 }; ; await job.pause()) {
    const rows = await context.store.read(plan.trash.next, after)
    for (const [id, , at] of rows) {
      if (String(at) > before && String(at) <= ahead) continue
      if (!(await isOld(pass, plan, { id: Number(id), at: String(at), before }))) continue
      if (await purgeOne(context, plan, Number(id))) purged++
      await job.pause()
    }
    if (rows.length === 0) return purged
    const [id = 0, deletion = ''] = rows.at(-1) ?? []
    after = { $deletion: deletion, $id: id }
  }
}

/** Goes by its own time, unless it was surely deleted later; or by its position, if a wrong clock dated it ahead. */
async function isOld(
  { context, marks }: Pass,
  plan: Plan,
  { id, at, before }: { id: number; at: string; before: string },
): Promise<boolean> {
  const [row] = await context.store.read(plan.trash.place, { $id: id })
  if (row === undefined) return at <= before
  const seq = Number(row[0])
  return seq <= marks.surelyBefore(before) || (at <= before && seq <= marks.surelyAfter(before))
}

async function purgeOne(context: Context, plan: Plan, id: number): Promise<boolean> {
  try {
    const { operation, entities } = await purge(context, plan, id)
    context.observer.emit({ kind: 'purged', entity: plan.type.name, id, entities, operation })
    return true
  } catch (error) {
    // Others still refer to the Entity, or it was purged with another one. The next pass tries again.
    if (!(error instanceof Failure) || error.code === 'unavailable') throw error
    return false
  }
}

/** Reads a time, with or without the quotes of JSON. */
function timeIn(text: string): number {
  return Date.parse(text.replaceAll('"', ''))
}

function begunBefore(now: number): Params {
  return {
    $before: new Date(now - PURGE_MS).toISOString(),
    $after: new Date(now + PURGE_MS).toISOString(),
  }
}
