import { didYouMean } from '../declare/closest.ts'
import { parseInstant } from '../declare/fields/time.ts'
import { type Errors, invalid, note } from '../errors.ts'

/** The parameters of a URL behind its `?`, the token left out. Nothing of it is silently ignored. */
export class Query {
  readonly #values: ReadonlyMap<string, string>
  readonly #twice: readonly string[]

  constructor(parameters: Iterable<[string, string]>) {
    const values = new Map<string, string>()
    const twice: string[] = []
    const seen = new Set<string>()
    for (const [name, value] of parameters) {
      if (seen.has(name)) twice.push(name)
      seen.add(name)
      if (name !== 'token') values.set(name, value)
    }
    this.#values = values
    this.#twice = twice
  }

  /** Takes the named parameters; all others are noted, or handed to `others`. */
  take<Name extends string>(
    names: readonly Name[],
    errors: Errors,
    others: (name: string, value: string) => void = (name) =>
      note(errors, name, () => `is not a parameter here${didYouMean(name, names)}`),
  ): Partial<Record<Name, string>> {
    const taken: Partial<Record<Name, string>> = {}
    for (const name of this.#twice) note(errors, name, 'is given more than once')
    for (const [name, value] of this.#values) {
      const known = names.find((one) => one === name)
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

  /** For calls that take no parameters. */
  refuseAll(): void {
    if (this.#values.size === 0 && this.#twice.length === 0) return
    const errors: Errors = new Map()
    this.take([], errors)
    throw invalid(errors)
  }

  static readonly empty = new Query([])
}

/** `1` is yes, `0` or nothing is no, all else is wrong. */
export function parseFlag(name: string, value: string | undefined, errors: Errors): boolean {
  if (value !== undefined && value !== '0' && value !== '1') note(errors, name, 'must be 1 or 0')
  return value === '1'
}

/** A time that is asked about, not before what is kept. */
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
    : note(errors, 'at', `is before ${first}, and older than what the journal keeps`)
}

/** A time with a zone, in its one form. */
export function parseTime(name: string, value: string | undefined, errors: Errors): string | undefined {
  if (value === undefined) return undefined
  return (
    parseInstant(value) ??
    note(errors, name, 'must be a time with a zone, such as 2026-12-31T18:00:00Z (a + is written %2B)')
  )
}
