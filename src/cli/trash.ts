import { purge } from '../api/write/remove.ts'
import type { App } from '../app.ts'
import { parseAge } from '../declare/retention.ts'
import { countInWords } from '../declare/with-article.ts'
import { Failure, StartError } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Command, GivenArguments } from './arguments.ts'
import { confirm } from './confirm.ts'
import { helpOption, storeOptions } from './options.ts'
import { planOf, withApp } from './past.ts'

const entityOption = { entity: { value: 'E', help: 'only this Entity type' } } as const

export const trashList: Command = {
  name: 'trash list',
  usage: 'takeback trash list [--entity E] [--older-than 30d] [--json]',
  summary: 'Lists deleted Entities: when, by whom, and by which operation.',
  options: {
    ...entityOption,
    'older-than': { value: 'AGE', help: 'only what was deleted at least this long ago: 30d, 12h, 1y' },
    json: { value: undefined, help: 'print JSON, for programs' },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    await withApp(given, async (app) => {
      const found = await trashed(app, given)
      if (given.text('json') !== undefined) return console.log(JSON.stringify(found))
      for (const { entity, id, deleted_at, actor, operation } of found)
        console.log(`${deleted_at}  ${entity}/${id}  by ${actor ?? 'nobody'}  ${operation}`)
      console.log(found.length === 0 ? 'The trash is empty.' : `${found.length} deleted.`)
    })
  },
}

export const trashPurge: Command = {
  name: 'trash purge',
  usage: 'takeback trash purge --older-than 30d [--entity E] [--yes]',
  summary: 'Erases for good what was deleted long ago. Shows the number and asks first.',
  options: {
    ...entityOption,
    'older-than': { value: 'AGE', help: 'what was deleted at least this long ago: 30d, 12h, 1y; 0d for all' },
    yes: { value: undefined, help: 'do not ask' },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    if (given.text('older-than') === undefined)
      throw new StartError('Give an age: takeback trash purge --older-than 30d.')
    await withApp(given, async (app) => {
      const found = await trashed(app, given)
      if (found.length === 0) return console.log('Nothing is that old.')
      for (const [entity, number] of countsOf(found)) console.log(countInWords(number, entity))
      if (given.text('yes') === undefined && !(await confirm('Erase that for good?')))
        return console.log('Nothing was erased.')
      const { purged, kept } = await purgeAll(app, found)
      for (const line of kept) console.log(line)
      console.log(`Erased ${purged}; kept ${found.length - purged}.`)
    })
  },
}

interface TrashedEntity {
  readonly entity: string
  readonly id: number
  readonly deleted_at: string
  readonly actor: string | null
  readonly operation: string
}

async function trashed(app: App, given: GivenArguments): Promise<TrashedEntity[]> {
  if (given.words.length > 0)
    throw new StartError(`takeback trash does not take "${given.words[0]}": use --entity E.`)
  const entity = given.text('entity')
  const plans = entity === undefined ? [...app.context.plans.values()] : [planOf(app, entity)]
  const before = new Date(Date.now() - ageOf(given.text('older-than') ?? '0d')).toISOString()
  const found: TrashedEntity[] = []
  for (const plan of plans) found.push(...(await trashedOf(app, plan, before)))
  return found.sort((a, b) => (a.deleted_at < b.deleted_at ? -1 : 1))
}

async function trashedOf({ context }: App, plan: Plan, before: string): Promise<TrashedEntity[]> {
  const rows = await context.store.read(plan.trash.before, { $before: before })
  return rows.map(([id, at, operation, actor]) => ({
    entity: plan.type.name,
    id: Number(id),
    deleted_at: String(at),
    actor: actor == null ? null : String(actor),
    operation: String(operation),
  }))
}

/** Purges all Entities. Those that others still refer to are tried again once some of these are gone. */
async function purgeAll(
  { context }: App,
  found: readonly TrashedEntity[],
): Promise<{ purged: number; kept: string[] }> {
  let left = [...found]
  let purged = 0
  for (;;) {
    const kept: { one: TrashedEntity; why: string }[] = []
    for (const one of left) {
      const plan = context.plans.get(one.entity)
      if (plan === undefined) continue
      try {
        await purge(context, plan, one.id)
        purged++
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        // The Entity was purged together with another one.
        if (error.code === 'not_found') purged++
        else
          kept.push({
            one,
            why: [...(error.errors ?? [])].map(([path, [text]]) => `${path}: ${text}`).join('; '),
          })
      }
    }
    if (kept.length === 0 || kept.length === left.length)
      return {
        purged,
        kept: kept.map(({ one, why }) => `kept  ${one.entity}/${one.id}  ${why}`),
      }
    left = kept.map(({ one }) => one)
  }
}

function countsOf(found: readonly TrashedEntity[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { entity } of found) counts.set(entity, (counts.get(entity) ?? 0) + 1)
  return counts
}

/** No Entity is older than this. */
const AGE_MAX = 200 * 365 * 86_400_000

function ageOf(text: string): number {
  const age = parseAge(text)
  if (age === undefined || age > AGE_MAX)
    throw new StartError(`--older-than must be an age such as 30d, 12h or 1y, not "${text}".`)
  return age
}
