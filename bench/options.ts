import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const parts = [
  'creates',
  'reads',
  'lists',
  'pairs',
  'logins',
  'memory',
  'start',
  'growth',
  'cascade',
  'journal',
  'listeners',
  'queries',
  'isolation',
] as const
export type Part = (typeof parts)[number]

export const stores = ['sqlite', 'postgres'] as const
export type StoreName = (typeof stores)[number]

export interface Options {
  readonly store: StoreName
  readonly parts: ReadonlySet<Part>
  /** How long a round of load takes. */
  readonly seconds: number
  /** Servers take turns in many short rounds, so that other load on this machine affects both alike. */
  readonly rounds: number
  /** The folder of another Takeback to compare with, instead of the bare server. */
  readonly against: string | undefined
}

export const help = `npm run bench -- [--store NAME] [--quick] [--growth] [--seconds N] [--only part,part] [--against FOLDER]

  --store NAME   sqlite, unless told; or postgres: one of its own, or TAKEBACK_BENCH_POSTGRES=postgres://…
  --quick        a third of the rounds, and no growth, queries nor isolation: they take a million rows
  --growth       growth only
  --seconds N    how long a round of load takes
  --only LIST    of ${parts.join(', ')}
  --against FOLDER
                 creates, reads, lists, pairs, logins, memory and start against another checkout of Takeback,
                 with its node_modules: is this one as fast as the one before?
  --help         this`

/** Returns undefined if `--help` is given. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      store: { type: 'string', default: 'sqlite' },
      quick: { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      seconds: { type: 'string' },
      only: { type: 'string' },
      against: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { quick, growth, only } = values
  if (growth && only !== undefined) throw new Error('--growth is --only growth: give one of the two.')
  const chosen = growth
    ? ['growth']
    : (only?.split(',') ?? parts.filter((part) => !quick || !large.includes(part)))
  return {
    store: readStore(values.store),
    parts: readParts(chosen),
    seconds: readSeconds(values.seconds ?? '1'),
    rounds: quick ? 3 : 9,
    against: values.against === undefined ? undefined : resolve(values.against),
  }
}

function readStore(name: string): StoreName {
  const store = stores.find((one) => one === name)
  if (store === undefined) throw new Error(`--store takes ${stores.join(' or ')}, not "${name}".`)
  return store
}

/** Parts whose databases take long to fill. */
const large: readonly Part[] = ['growth', 'queries', 'isolation']

/** The parts under which memory is measured. */
const loads: readonly Part[] = ['creates', 'reads', 'lists']

function readParts(names: readonly string[]): ReadonlySet<Part> {
  const chosen = names.map((name) => {
    const part = parts.find((one) => one === name)
    if (part === undefined) throw new Error(`--only takes ${parts.join(', ')}, not "${name}".`)
    return part
  })
  return new Set(chosen.includes('memory') ? [...loads, ...chosen] : chosen)
}

function readSeconds(text: string): number {
  const seconds = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (seconds < 1 || seconds > 60)
    throw new Error(`--seconds takes a whole number from 1 to 60, not "${text}".`)
  return seconds
}
