import { Mistake, parseCel } from '../declare/cel/parse.ts'
import { didYouMean } from '../declare/closest.ts'
import { parseInstant } from '../declare/fields/time.ts'
import { addError, type Errors, invalid } from '../errors.ts'
import { planning as planningNames } from './parameters.ts'

/** The parameter with a token, which any URL may have. */
const TOKEN = 'token'

interface QueryOptions {
  /** Whether it is the query of a write that can be previewed. */
  readonly plans?: boolean | undefined
  /** Whether the query may have a token, which is left out. */
  readonly url?: boolean
  /** The result of `malformedIn`. */
  readonly malformed?: readonly string[]
}

/** Returns the parameters of a URL that are not UTF-8. `URLSearchParams` would read their bytes as U+FFFD. */
export function malformedIn(search: string): readonly string[] {
  // A `%` that starts no escape stands for itself, as in browsers.
  const escaped = search.replace(/%(?![0-9a-f]{2})/gi, '%25')
  if (isDecodable(escaped)) return []
  const parts = escaped.split('&').filter((part) => !isDecodable(part))
  return parts.flatMap((part) => [...new URLSearchParams(part).keys()])
}

/** Whether all escaped bytes in a part of a URL are UTF-8. */
export function isDecodable(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** The query parameters of a URL, or of a call in the process. Unknown names are refused. */
export class Query<Name extends string = string> {
  readonly #values: ReadonlyMap<string, string>
  /** Errors, by parameter. */
  readonly #faults: ReadonlyMap<string, string>
  readonly #names: readonly Name[]
  /** The parameters of previews and plans. `take` leaves them out. */
  readonly planning: ReadonlyMap<string, string>

  constructor(
    parameters: Iterable<[string, string]>,
    names: readonly Name[],
    { plans = false, url = false, malformed = [] }: QueryOptions = {},
  ) {
    const values = new Map<string, string>()
    const planning = new Map<string, string>()
    const faults = new Map(
      malformed.map((name) => [name, 'must be UTF-8: some of its escaped bytes are not']),
    )
    const seen = new Set<string>()
    for (const [name, value] of parameters) {
      if (faults.has(name)) continue
      if (seen.has(name)) faults.set(name, 'is given more than once')
      seen.add(name)
      if (plans && isPlanning(name)) {
        // `dry_run=0` counts as absent.
        if (name !== 'dry_run' || value !== '0') planning.set(name, value)
      } else if (!url || name !== TOKEN) values.set(name, value)
    }
    this.#values = values
    this.planning = planning
    this.#faults = faults
    this.#names = names
  }

  /** The known names. */
  get names(): readonly Name[] {
    return this.#names
  }

  /** Returns the parameters. Those with other names are noted as errors, or handed to `others`. */
  take(
    errors: Errors,
    others: (name: string, value: string) => void = (name) =>
      addError(errors, name, () => `is not a parameter here${didYouMean(name, this.#names)}`),
  ): Partial<Record<Name, string>> {
    const taken: Partial<Record<Name, string>> = {}
    for (const [name, fault] of this.#faults) addError(errors, name, fault)
    for (const [name, value] of this.#values) {
      const known = this.#names.find((one) => one === name)
      if (known === undefined) others(name, value)
      else taken[known] = value
    }
    return taken
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Whether a parameter is given, and is not `0`. */
  asks(name: string): boolean {
    return (this.#values.get(name) ?? '0') !== '0'
  }

  /** For calls without parameters: throws if there is any, even one that other calls of the same path have. */
  refuseAll(): void {
    if (this.#values.size === 0 && this.#faults.size === 0) return
    const errors: Errors = new Map()
    for (const name of Object.keys(this.take(errors))) addError(errors, name, 'is not a parameter here')
    throw invalid(errors)
  }

  static readonly empty: Query<never> = new Query([], [])
}

/**
 * Values that fields must have, as parameters of a list, together with `filter`, if any. For calls in the process.
 * Throws for the name of a parameter, since it would be read as one. `search` is one only if fields are searched.
 */
export function equalities(
  where: object,
  takes: readonly string[],
  filter?: string,
): Readonly<Record<string, string>> {
  const errors: Errors = new Map()
  // A plain object would lose a path such as `__proto__`.
  const query = new Map<string, string>()
  const absent: string[] = []
  for (const [path, value] of Object.entries(where))
    if (takes.includes(path) && path !== 'search')
      addError(errors, `where.${path}`, 'is a parameter of lists: compare with it in filter')
    // A parameter cannot express this: for texts, `null` is a text.
    else if (value === null && /^[\w.]+$/.test(path)) absent.push(`${path} == null`)
    else if (EQUAL.includes(typeof value)) query.set(path, String(value))
    else addError(errors, `where.${path}`, 'must be a text, a number, true, false or null')
  if (filter !== undefined && absent.length > 0) addMistake(filter, errors)
  if (errors.size > 0) throw invalid(errors)
  const conditions = [...absent, ...(filter === undefined ? [] : [filter])]
  if (conditions.length > 0)
    query.set(
      'filter',
      conditions.length === 1 ? String(conditions[0]) : conditions.map((one) => `(${one}\n)`).join(' && '),
    )
  return Object.fromEntries(query)
}

/** Adds an error for a filter that has a mistake by itself: `true) || (true` must not become a part of another one. */
function addMistake(filter: string, errors: Errors): void {
  try {
    parseCel(filter)
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    addError(errors, 'filter', error.message)
  }
}

const EQUAL = ['string', 'number', 'boolean']

function isPlanning(name: string): boolean {
  return planningNames.some((one) => one === name)
}

/** `1` is true, `0` or absent is false, anything else is an error. */
export function parseFlag(name: string, value: string | undefined, errors: Errors): boolean {
  if (value !== undefined && value !== '0' && value !== '1') addError(errors, name, 'must be 1 or 0')
  return value === '1'
}

/** Reads a time in the past, as far back as the journal goes. */
export function parsePast(
  value: string | undefined,
  kept: number | undefined,
  errors: Errors,
): string | undefined {
  const time = parseTime('at', value, errors)
  if (time === undefined || kept === undefined) return time
  const first = new Date(Date.now() - kept).toISOString()
  return time >= first
    ? time
    : addError(errors, 'at', `is before ${first}: the journal does not go back that far`)
}

/** Reads a time with a zone, and normalises it. */
export function parseTime(name: string, value: string | undefined, errors: Errors): string | undefined {
  if (value === undefined) return undefined
  return (
    parseInstant(value) ??
    addError(errors, name, 'must be a time with a zone, such as 2026-12-31T18:00:00Z (a + is written %2B)')
  )
}
