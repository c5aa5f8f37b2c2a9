/** Buckets per factor of two: each is a fifth longer than the one before. */
const PARTS = 4
/** The buckets go from 2^-5 ms to 2^16 ms, which is a minute. */
const [LEAST, MOST] = [-5, 16]
const BUCKETS = (MOST - LEAST) * PARTS
const MINUTES = 60

/** The durations of requests, in buckets for percentiles: a fixed amount of memory for any number of requests. */
class Durations {
  count = 0
  /** Answers with status 500 or more. */
  errors = 0
  #max = 0
  readonly #buckets = new Uint32Array(BUCKETS)

  add(status: number, ms: number): void {
    this.count++
    if (status >= 500) this.errors++
    if (ms > this.#max) this.#max = ms
    const at = Math.floor((Math.log2(ms) - LEAST) * PARTS)
    const bucket = at > 0 ? Math.min(at, BUCKETS - 1) : 0
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
  }

  clear(): void {
    this.count = 0
    this.errors = 0
    this.#max = 0
    this.#buckets.fill(0)
  }

  get max(): number {
    return rounded(this.#max)
  }

  /** The time that this share of requests took at most, within a fifth. */
  percentile(share: number): number {
    let left = this.count * share
    for (const [at, count] of this.#buckets.entries()) {
      left -= count
      if (count > 0 && left <= 0) return rounded(Math.min(this.#max, 2 ** (LEAST + (at + 1) / PARTS)))
    }
    return 0
  }
}

function rounded(ms: number): number {
  return Number(ms.toPrecision(3))
}

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly durations: Durations
}

/** A path that is served. Other requests share `ELSEWHERE`. */
interface ServedPath {
  readonly path: string
}

const ELSEWHERE: ServedPath = { path: '' }
/** Other methods count as one: clients may invent as many as they like. */
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** What this instance has answered since its start, by endpoint and by minute. Its size is bounded. */
export class RequestFigures {
  /** The wall clock minus the clock of this process, at the start: later jumps of the wall clock do not matter. */
  readonly #offset = Date.now() - performance.now()
  readonly #since = this.#textOf(performance.now())
  readonly #endpoints = new Map<ServedPath, Map<string, Endpoint>>()
  /** A ring buffer. */
  readonly #minutes = Array.from({ length: MINUTES }, () => ({ minute: 0, durations: new Durations() }))

  /** Counts an answer. `started` is by the clock of this process. */
  add(
    path: ServedPath | undefined,
    method: string,
    { status, started, ms }: { readonly status: number; readonly started: number; readonly ms: number },
  ): void {
    this.#endpointOf(path ?? ELSEWHERE, method).durations.add(status, ms)
    this.#minuteAt(this.#minuteOf(started + ms)).add(status, ms)
  }

  #textOf(time: number): string {
    return new Date(time + this.#offset).toISOString()
  }

  #minuteOf(time: number): number {
    return Math.floor((time + this.#offset) / 60_000)
  }

  #endpointOf(route: ServedPath, method: string): Endpoint {
    const methods = this.#endpoints.get(route) ?? new Map<string, Endpoint>()
    const shown = METHODS.includes(method) ? method : ''
    const known = methods.get(shown)
    if (known !== undefined) return known
    const made = { method: shown, path: route.path.replace(/:(\w+)/g, '{$1}'), durations: new Durations() }
    methods.set(shown, made)
    this.#endpoints.set(route, methods)
    return made
  }

  #minuteAt(minute: number): Durations {
    const place = this.#minutes[minute % MINUTES]
    if (place === undefined) return new Durations()
    if (place.minute !== minute) {
      place.minute = minute
      place.durations.clear()
    }
    return place.durations
  }

  /** Returns the endpoints, most requests first, and the minutes in order. Those without requests are left out. */
  state(): object {
    const endpoints = [...this.#endpoints.values()].flatMap((methods) => [...methods.values()])
    const first = this.#minuteOf(performance.now()) - MINUTES
    return {
      since: this.#since,
      endpoints: endpoints
        .sort((one, other) => other.durations.count - one.durations.count)
        .map(({ method, path, durations }) => ({ method, path, ...shownDurations(durations) })),
      minutes: this.#minutes
        .filter(({ minute }) => minute > first)
        .sort((one, other) => one.minute - other.minute)
        .map(({ minute, durations }) => ({
          at: new Date(minute * 60_000).toISOString(),
          ...shownDurations(durations),
        })),
    }
  }
}

function shownDurations(durations: Durations): object {
  return {
    count: durations.count,
    errors: durations.errors,
    p50_ms: durations.percentile(0.5),
    p95_ms: durations.percentile(0.95),
    max_ms: durations.max,
  }
}
