import type { Address } from './address.ts'
import { unavailable } from './errors.ts'
import { type ConnectionOptions, GRACE_MS, PooledConnection, within } from './pooled-connection.ts'

/** How long the other hosts have to answer once one that takes writes is found. */
const OTHERS_MS = 1000

/** Its first digits are the timeline, which increases with every promotion of a standby. */
const WAL_FILE = { text: 'SELECT pg_walfile_name(pg_current_wal_lsn())', paramNames: [] }

/** A host that takes writes. */
interface WritableHost {
  readonly url: string
  readonly timeline: string
}

/** The hosts of an address, and which of them takes writes. That is checked again whenever it is in doubt. */
export class Hosts {
  readonly #address: Address
  readonly #options: ConnectionOptions
  #current: string | undefined
  #searching: Promise<string> | undefined

  constructor(address: Address, options: ConnectionOptions) {
    this.#address = address
    this.#options = options
  }

  /** Whether only a host that takes writes is acceptable. */
  get mustTakeWrites(): boolean {
    return this.#address.writable
  }

  /** Connects to the right host. */
  async connect(connection: PooledConnection): Promise<void> {
    const url = await this.url()
    try {
      await connection.open(url)
      if (this.mustTakeWrites && !connection.takesWrites) throw unavailable(new Error(takesNoWrites(url)))
    } catch (error) {
      this.doubt(url)
      throw error
    }
  }

  /** The host could not be reached, or takes no writes: the next connection searches again. */
  doubt(url: string | undefined): void {
    if (this.#current === url) this.#current = undefined
  }

  /** The host that takes writes. */
  async url(): Promise<string> {
    const [first = ''] = this.#address.hosts
    if (!this.mustTakeWrites) return first
    if (this.#current !== undefined) return this.#current
    this.#searching ??= this.#search().finally(() => {
      this.#searching = undefined
    })
    return await this.#searching
  }

  /**
   * Asks all hosts at once. If several take writes, an old primary has come back without knowing its successor: the
   * host with the latest timeline is right.
   */
  async #search(): Promise<string> {
    const found: WritableHost[] = []
    const faults: string[] = []
    const any = Promise.withResolvers<void>()
    const probes = this.#address.hosts.map(async (url) => {
      try {
        found.push({ url, timeline: await this.#probe(url) })
        any.resolve()
      } catch (error) {
        faults.push(error instanceof Error ? error.message : String(error))
      }
    })
    await Promise.race([Promise.all(probes), any.promise.then(() => Bun.sleep(OTHERS_MS))])
    const latest = found
      .map(({ timeline }) => timeline)
      .sort()
      .at(-1)
    // In the order of the address, if there are several.
    const url = this.#address.hosts.find((host) =>
      found.some((one) => one.url === host && one.timeline === latest),
    )
    if (url === undefined) throw unavailable(new Error(`no host takes writes: ${faults.sort().join('; ')}`))
    this.#current = url
    return url
  }

  /** The timeline of a host that takes writes; empty if it does not say. */
  async #probe(url: string): Promise<string> {
    const connection = new PooledConnection(this.#options)
    const { connectMs, statementMs } = this.#options.limits
    try {
      await within(connectMs + GRACE_MS, connection.open(url))
      if (!connection.takesWrites) throw new Error(takesNoWrites(url))
      const [row] = await within(
        statementMs + GRACE_MS,
        connection.run(WAL_FILE, {}).catch(() => []),
      )
      return String(row?.[0] ?? '').slice(0, 8)
    } catch (error) {
      throw new Error(`${new URL(url).host}: ${error instanceof Error ? error.message : error}`)
    } finally {
      connection.close().catch(() => {})
    }
  }
}

function takesNoWrites(url: string): string {
  return `${new URL(url).host} takes no writes: it is read-only, or a standby`
}
