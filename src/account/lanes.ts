import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'

/** `login`: verifying a password to log in. `other`: all other hashes, mostly of sign-ups. */
export type Lane = 'login' | 'other'

/** Thrown before the work has begun: no password was verified. */
export class NotStarted extends Failure {
  constructor(gone: boolean) {
    super(gone ? 'abandoned' : 'unavailable', gone ? {} : { headers: { 'Retry-After': '5' } })
  }
}

type LaneLimits = Readonly<Record<'hashesAtOnce' | 'hashesWaiting' | 'hashWaitMs', number>>

interface WaitingWork {
  start(): void
}

/** How many logins may start in a row while others wait. */
const LOGINS_IN_A_ROW = 3

/**
 * Queues for work that takes a whole core. A few run at a time, the others wait in the queue of their lane. Logins go
 * first, but the other lane gets every fourth turn. Each queue is bounded in length and in waiting time.
 */
export class Lanes {
  readonly #limits: LaneLimits
  readonly #queues: Readonly<Record<Lane, Set<WaitingWork>>> = { login: new Set(), other: new Set() }
  #running = 0
  #logins = 0

  constructor(limits: LaneLimits = budget) {
    this.#limits = limits
  }

  /** How many calls wait in a lane. */
  waiting(lane: Lane): number {
    return this.#queues[lane].size
  }

  /** Runs the work when its turn comes. Throws `NotStarted` if that takes too long, or if the client has gone. */
  async run<T>(lane: Lane, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    if (signal?.aborted) throw new NotStarted(true)
    if (this.#running < this.#limits.hashesAtOnce) this.#count(lane)
    else await this.#turn(lane, signal)
    try {
      return await work()
    } finally {
      this.#running--
      this.#startNext()
    }
  }

  #turn(lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    const queue = this.#queues[lane]
    if (queue.size >= this.#limits.hashesWaiting) throw new NotStarted(false)
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        queue.delete(waiting)
      }
      const giveUp = () => {
        leave()
        reject(new NotStarted(signal?.aborted ?? false))
      }
      const waiting: WaitingWork = {
        start: () => {
          leave()
          this.#count(lane)
          resolve()
        },
      }
      const timer = setTimeout(giveUp, this.#limits.hashWaitMs)
      signal?.addEventListener('abort', giveUp, { once: true })
      queue.add(waiting)
    })
  }

  #count(lane: Lane): void {
    this.#running++
    this.#logins = lane === 'login' ? this.#logins + 1 : 0
  }

  #startNext(): void {
    const [login] = this.#queues.login
    const [other] = this.#queues.other
    const next =
      login !== undefined && (other === undefined || this.#logins < LOGINS_IN_A_ROW) ? login : other
    next?.start()
  }
}
