import { parseId } from '../api/id.ts'
import { fromSystem } from '../api/idempotency.ts'
import { history as historyOf, readHistory } from '../api/past/history.ts'
import { undoMany, undo as undoOne, undoOperation } from '../api/past/undo.ts'
import { Query } from '../api/query.ts'
import { type App, loadModel, openApp } from '../app.ts'
import { didYouMean } from '../declare/closest.ts'
import { parseInstant } from '../declare/fields/time.ts'
import { Failure, StartError } from '../errors.ts'
import type { Changed } from '../journal/difference.ts'
import type { Plan } from '../plan/compile.ts'
import { system } from '../plan/viewer/actor.ts'
import type { Command, GivenArguments } from './arguments.ts'
import { confirm } from './confirm.ts'
import { helpOption, keptConfigOf, storeOptions } from './options.ts'

const jsonOption = { json: { value: undefined, help: 'print JSON, for programs' } } as const
const yesOption = { yes: { value: undefined, help: 'do not ask' } } as const

/** Opens the app for a command, and closes it afterwards. The command must not migrate a database. */
export async function withApp(given: GivenArguments, work: (app: App) => Promise<void>): Promise<void> {
  const config = keptConfigOf(given)
  const app = await openApp(config, await loadModel(config.file), { makes: 'none' })
  try {
    await work(app)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const lines = [...(error.errors ?? [])].map(([path, sentences]) => `  ${path} ${sentences.join(', ')}`)
    throw new StartError([error.message, ...lines].join('\n'))
  } finally {
    await app.close()
  }
}

export function planOf({ context }: App, name: string): Plan {
  const plan = context.plans.get(name)
  if (plan !== undefined) return plan
  const names = [...context.plans.keys()]
  throw new StartError(
    `There is no Entity type "${name}"${didYouMean(name, names)} (there are: ${names.join(', ')}).`,
  )
}

export const historyCommand: Command = {
  name: 'history',
  usage: 'takeback history <entity>/<id> [--limit N] [--json]',
  summary: 'Shows every change of an Entity, newest first.',
  options: {
    limit: { value: 'N', help: 'maximum number of changes (20)' },
    ...jsonOption,
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const [, entity, id] = /^([a-z][a-z0-9_]*)\/(\d+)$/.exec(given.words[0] ?? '') ?? []
    if (entity === undefined || given.words.length !== 1)
      throw new StartError('Name an Entity: takeback history bookings/7.')
    await withApp(given, async (app) => {
      const limit = given.text('limit')
      const query = new Query(limit === undefined ? [] : [['limit', limit]], readHistory.takes)
      const { body = '' } = await historyOf(app.context, planOf(app, entity), system, {
        id: parseId(id ?? ''),
        query,
      })
      console.log(given.text('json') === undefined ? shownHistory(body) : body)
    })
  },
}

interface ListedChange {
  readonly version: number
  readonly kind: string
  readonly at: string
  readonly actor: string | null
  readonly operation: string
  readonly changed: Changed | null
  readonly run?: string
  readonly reason?: string
}

function shownHistory(body: string): string {
  const { data, next } = JSON.parse(body) as { data: ListedChange[]; next: string | null }
  const lines = data.flatMap(({ version, kind, at, actor, operation, changed, run, reason }) => [
    `${at}  ${kind.padEnd(7)}  version ${version}  by ${actor ?? 'nobody'}  ${operation}${run === undefined ? '' : `  run ${run}`}`,
    ...(reason === undefined ? [] : [`    because ${JSON.stringify(reason)}`]),
    ...(changed === null ? ['    no longer known'] : shownChanges(changed)),
  ])
  return [...lines, ...(next === null ? [] : ['', 'There is more: use a larger --limit.'])].join('\n')
}

/** Returns a line for each dot path: `guests  1 → 3`. */
function shownChanges(changed: Changed): string[] {
  const entries = Object.entries(changed)
  const width = Math.max(0, ...entries.map(([path]) => path.length))
  return entries.map(
    ([path, { from, to }]) => `    ${path.padEnd(width)}  ${JSON.stringify(from)} → ${JSON.stringify(to)}`,
  )
}

export const undoCommand: Command = {
  name: 'undo',
  usage: 'takeback undo <operation> | --actor A --since T … [--with W] [--skip-conflicts] [--yes] [--json]',
  summary: 'Takes back an operation, or all that match, after showing the changes.',
  options: {
    actor: {
      value: 'A',
      help: 'operations by this user, such as users/3; or by a key, a job, a reaction: keys/7, jobs/nightly',
    },
    since: { value: 'T', help: 'operations since a time: 2026-12-31T18:00:00Z, or 14:00 for today' },
    until: { value: 'T', help: 'operations before a time' },
    entity: { value: 'E', help: 'operations on this Entity type, or on one Entity: bookings/7' },
    run: { value: 'R', help: 'operations of this run (the header Takeback-Run)' },
    with: {
      value: 'W',
      help: 'dependents: also delete Entities that refer to a deleted one; targets: also restore those that a restored one refers to',
    },
    'skip-conflicts': { value: undefined, help: 'skip conflicts and take back the rest' },
    'with-effects': {
      value: undefined,
      help: 'also take back what reactions wrote because of the operations',
    },
    ...yesOption,
    ...jsonOption,
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const filter = filterOf(given)
    const [operation, ...more] = given.words
    if (more.length > 0 || (operation === undefined) === (Object.keys(filter).length === 0))
      throw new StartError(
        'Name an operation, or choose by flags: takeback undo <operation>, or takeback undo --actor users/3 --since 14:00.',
      )
    await withApp(given, async ({ context }) => {
      const run = async (more: [string, string]) => {
        const also = given.text('with')
        const sent: [string, string][] = [
          ['skip_conflicts', given.text('skip-conflicts') === undefined ? '0' : '1'],
          ['with_effects', given.text('with-effects') === undefined ? '0' : '1'],
          ...(also === undefined ? [] : [['with', also] as [string, string]]),
          more,
        ]
        const query = new Query(sent, undoOperation.takes)
        const request = fromSystem(filter)
        const { body = '' } = await (operation === undefined
          ? undoMany(context, request, query)
          : undoOne(context, request, operation, query))
        return body
      }
      const dry = await run(['dry_run', '1'])
      const { total, plan = '' } = JSON.parse(dry) as Undone
      if (given.text('json') === undefined) console.log(shownUndo(dry))
      if (total === 0) return given.text('json') === undefined ? undefined : console.log(dry)
      if (given.text('yes') === undefined && !(await confirm('Take that back?')))
        return console.log('Nothing was taken back.')
      // Does exactly what was shown, or nothing.
      const done = await run(['plan', plan])
      if (given.text('json') === undefined)
        console.log(`Taken back, as operation ${(JSON.parse(done) as Undone).operation}.`)
      else console.log(done)
    })
  },
}

interface Undone {
  readonly plan?: string
  readonly operation: string | null
  readonly undone: number
  readonly total: number
  readonly changes: readonly {
    readonly entity: string
    readonly id: number
    readonly kind: string
    readonly changed: Changed
  }[]
  readonly skipped: Readonly<Record<string, readonly string[]>>
  /** The operations that these have caused. */
  readonly effects?: readonly { readonly operation: string; readonly actor: string | null }[]
}

function shownUndo(body: string): string {
  const { undone, total, changes, skipped, effects = [] } = JSON.parse(body) as Undone
  const lines = changes.flatMap(({ entity, id, kind, changed }) => [
    `${kind.padEnd(7)}  ${entity}/${id}`,
    ...shownChanges(changed),
  ])
  const left = Object.entries(skipped).map(([name, sentences]) => `skipped  ${name} ${sentences.join(', ')}`)
  return [
    ...lines,
    ...(total > changes.length ? [`… and ${total - changes.length} more`] : []),
    ...left,
    ...effects.map(({ operation, actor }) => `set off  ${operation} by ${actor ?? 'nobody'}`),
    '',
    `${undone === 1 ? '1 operation' : `${undone} operations`}, ${total === 1 ? '1 Entity' : `${total} Entities`} to change.`,
  ].join('\n')
}

function filterOf(given: GivenArguments): Record<string, string> {
  const filter: Record<string, string> = {}
  for (const name of ['actor', 'entity', 'run'] as const) {
    const text = given.text(name)
    if (text !== undefined) filter[name] = text
  }
  for (const name of ['since', 'until'] as const) {
    const text = given.text(name)
    if (text !== undefined) filter[name] = timeOf(name, text)
  }
  return filter
}

/** Reads a time. `14:00` means today, in local time. */
function timeOf(name: string, text: string): string {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  if (hours !== undefined) {
    const time = new Date()
    time.setHours(Number(hours), Number(minutes), 0, 0)
    return time.toISOString()
  }
  const instant = parseInstant(text)
  if (instant === undefined)
    throw new StartError(
      `--${name} must be a time such as 14:00 (today) or 2026-12-31T18:00:00Z, not "${text}".`,
    )
  return instant
}
