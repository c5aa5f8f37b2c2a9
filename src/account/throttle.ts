import { createHash, randomBytes } from 'node:crypto'
import { budget } from '../budget.ts'
import type { EntityType } from '../declare/model.ts'
import { type Code, Failure } from '../errors.ts'
import type { Params, Row } from '../store/dialect.ts'
import { loginMutex } from '../store/mutex.ts'
import type { ServiceTime } from '../store/service-time.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { NotStarted } from './lanes.ts'
import { compileThrottle, SLOTS, type ThrottleStatements } from './throttle-statements.ts'
import { type Count, type Counts, judge, type Origin, type Verdict, waitAfter } from './verdict.ts'

const WAIT_MS = 10_000
const PLACE_MS = budget.knownPlaceDays * 24 * 60 * 60_000

/** What is limited: guesses at a password, a code or another secret, and requests for a mail. */
type AttemptKind =
  | 'login'
  | 'second-factor'
  | 'passkey'
  | 'link'
  | 'provider-state'
  | 'provider-code'
  | 'forgot'
  | 'verify'
  | 'email'
  | 'invite'
  | 'sign-up'
  | 'mails'

/**
 * The name under which attempts are counted. Each kind is used in one place only: the text after it may come from
 * strangers, and with a shared kind they could lock something else.
 */
export type AttemptAccount = `${AttemptKind} ${string}`

/** An attempt to guess a password or another secret: at which account, and from where. */
export interface Attempt {
  /** For passwords it comes from `loginAccount`. */
  readonly account: AttemptAccount
  readonly address: string
  /** The `Takeback-Device` header. */
  readonly device: string | null
  /** The session of a logged-in caller. It counts as a known device. */
  readonly session?: string
  /** False if a successful attempt must not make its place known. */
  readonly remembered?: boolean
}

/** A successful attempt. */
interface SuccessfulAttempt<T> {
  readonly found: T
  /** The value that the client can send as `Takeback-Device` from now on. */
  readonly device: string
}

interface PendingAttempt {
  readonly attempt: Attempt
  readonly params: Params
  readonly origin: Origin
}

/** Checks a password for one of several accounts. If it matches, `isRight` is told what it was compared with. */
export type GuessCheck<T> = (at: number, isRight: (proof: string) => void) => Promise<T | undefined>

/**
 * The name under which guesses at the password of an account are counted. Users of two types may have the same e-mail,
 * and one must not get more guesses at the password of the other. A type keeps its `userType` when it is renamed.
 */
export function loginAccount(
  { name, login }: Pick<EntityType, 'name' | 'login'>,
  emailKey: string,
): AttemptAccount {
  return `login ${login?.userType ?? name} ${emailKey}`
}

/**
 * Limits failed attempts. They are counted in the database, so that neither a restart nor a second instance forgets
 * them. An attempt is recorded before the password is checked, so that many at once cannot slip through before they are
 * counted. Whatever goes wrong after that, the attempt counts as failed.
 */
export class Throttle {
  readonly #store: Store
  readonly #serviceTime: ServiceTime
  readonly #statements: ThrottleStatements
  readonly #waitMs: number

  constructor(store: Store, serviceTime: ServiceTime, waitMs = WAIT_MS) {
    this.#store = store
    this.#serviceTime = serviceTime
    this.#waitMs = waitMs
    this.#statements = compileThrottle(store.dialect)
  }

  /** Runs a check of a password for an account, unless too many have failed. */
  attempt<T>(
    attempt: Attempt,
    check: () => Promise<T | undefined>,
  ): Promise<SuccessfulAttempt<T> | undefined> {
    return this.attemptEach([attempt], check)
  }

  /**
   * The same for several accounts in turn, until the password matches one. The attempt counts as failed for those
   * before: whoever owns one account must not use it to try passwords of the others. Accounts with too many failures
   * are skipped. If no other account matches, that failure is thrown.
   */
  async attemptEach<T>(
    attempts: readonly Attempt[],
    check: GuessCheck<T>,
  ): Promise<SuccessfulAttempt<T> | undefined> {
    const { fail, failBeside } = this.#statements
    const failOne = attempts.length === 1 ? fail : failBeside
    const wrong: PendingAttempt[] = []
    let refused: Failure | undefined
    for (const [at, attempt] of attempts.entries()) {
      const pending = await this.#begin(attempt)
      if (pending instanceof Failure) refused ??= pending
      else {
        const found = await this.#try(pending, wrong, failOne, (isRight) => check(at, isRight))
        if (found !== undefined) return { found, device: await this.#pass(pending) }
        wrong.push(pending)
      }
    }
    // A login counts once for its address, and only when no account matches.
    const [first] = wrong
    if (first !== undefined && failOne !== fail) await this.#store.write(fail, first.params)
    if (refused !== undefined) throw refused
    return undefined
  }

  /** Runs the check and records its outcome, even if it throws. */
  async #try<T>(
    { params }: PendingAttempt,
    wrong: readonly PendingAttempt[],
    fail: readonly Step[],
    check: (isRight: (proof: string) => void) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    let proof: string | undefined
    const settle = async () => {
      if (proof !== undefined) for (const one of wrong) await this.#settle(one, proof)
    }
    let found: T | undefined
    try {
      found = await check((known) => {
        proof = known
      })
    } catch (error) {
      const { fail: failed, withdraw } = this.#statements
      await this.#store.write(wasTried(error) ? failed : withdraw, params)
      const [first] = wrong
      if (first !== undefined && proof === undefined && !wasTried(error))
        await this.#store.write(failed, first.params)
      await settle()
      throw error
    }
    if (found === undefined) await this.#store.write(fail, params)
    await settle()
    return found
  }

  /** Records a successful attempt, and returns the client's next `Takeback-Device`. */
  async #pass({ attempt, params, origin }: PendingAttempt): Promise<string> {
    const device = origin === 'device' && attempt.device !== null ? attempt.device : newDevice()
    const remembered = attempt.session === undefined && attempt.remembered !== false
    await this.#store.write(remembered ? this.#statements.remember : this.#statements.pass, {
      ...params,
      $device: placeDigest('device', device),
    })
    return device
  }

  /**
   * The password does not match this account, but matches another one with the same e-mail. It counts as a guess only
   * if it differs from former ones: nobody runs out of attempts by logging in.
   */
  async #settle({ attempt, params }: PendingAttempt, proof: string): Promise<void> {
    await this.#store.write(this.#statements.settle, {
      ...params,
      ...this.#placeTimes,
      $account: digest(`tried ${attempt.account}`),
      $place: placeDigest('password', proof),
    })
  }

  /** Forgets all failures of an account, so that it can log in from everywhere. */
  async unlock(account: AttemptAccount): Promise<void> {
    await this.#store.write(this.#statements.forget, { $account: digest(account) })
  }

  /** Begins an attempt. Waits if the outcome of pending attempts decides. Returns a failure if there were too many. */
  async #begin(attempt: Attempt): Promise<PendingAttempt | Failure> {
    const until = performance.now() + this.#waitMs
    const { origin, place } = await this.#placeOf(attempt)
    for (;;) {
      const params = { ...attemptParams(attempt, place, origin), ...this.#placeTimes }
      const outcome = await this.#store.write(this.#statements.begin, params)
      const counts = countsIn(outcome.rows)
      const { now } = counts
      const verdict = judge(counts, origin)
      if (verdict === 'free') return { attempt, params, origin }
      await this.#refuse(params, verdict)
      if (verdict !== 'wait') return tooMany(verdict.until - now)
      if (performance.now() > until) return this.#postpone(params, origin, now)
      await Bun.sleep(20 + Math.random() * 80)
    }
  }

  /** Whoever keeps attempts pending and abandons them must not lock others out: each gets a time of their own. */
  async #postpone(params: Params, origin: Origin, now: number): Promise<Failure> {
    if (origin !== 'elsewhere') return new Failure('unavailable', { headers: { 'Retry-After': '1' } })
    await this.#refuse(params, { until: now + waitAfter(0), gives: true })
    return tooMany(waitAfter(0))
  }

  async #refuse(params: Params, verdict: Exclude<Verdict, 'free'>): Promise<void> {
    if (verdict === 'wait' || !verdict.gives) await this.#store.write(this.#statements.withdraw, params)
    else
      await this.#store.write(this.#statements.give, {
        ...params,
        $until: new Date(verdict.until).toISOString(),
      })
  }

  /** Returns where an attempt comes from, and the place under which it is counted. */
  async #placeOf({ account, address, device, session }: Attempt): Promise<{ origin: Origin; place: string }> {
    if (session !== undefined) return { origin: 'device', place: placeDigest('session', session) }
    const places = { address: placeDigest('address', address), device: placeDigest('device', device ?? '') }
    const rows = await this.#store.read(this.#statements.known, {
      $account: digest(account),
      $place: places.address,
      $device: places.device,
      ...this.#placeTimes,
    })
    const known = new Set(rows.map(([place]) => String(place)))
    if (device !== null && known.has(places.device)) return { origin: 'device', place: places.device }
    return { origin: known.has(places.address) ? 'address' : 'elsewhere', place: places.address }
  }

  /** The present service time, and the time before which places are forgotten. */
  get #placeTimes(): Params {
    return { $now: this.#serviceTime.text(), $old: this.#serviceTime.text(-PLACE_MS) }
  }
}

/**
 * Whether an attempt that ended with this error was a guess. It was not if no password was checked, or if the password
 * was right and no code was checked. Everything else counts, since a client could cause it on purpose.
 */
function wasTried(error: unknown): boolean {
  if (error instanceof NotStarted) return false
  return !(error instanceof Failure && UNTRIED.includes(error.code))
}

const UNTRIED: readonly Code[] = ['second_factor_required', 'too_many_attempts']

function attemptParams({ account, address }: Attempt, place: string, origin: Origin): Params {
  return {
    $attempt: Bun.randomUUIDv7(),
    $account: digest(account),
    $address: address,
    $place: place,
    $from: placeDigest('address', address),
    $elsewhere: origin === 'elsewhere' ? 1 : 0,
    [SLOTS[0]]: loginMutex(account),
    [SLOTS[1]]: loginMutex(address),
  }
}

/** Reads one row per count: its name, failures, pending attempts, the first and the last failure. */
function countsIn(rows: readonly Row[]): Counts {
  const of = (name: string): Count => {
    const [, failed, pending, first, last] = rows.find(([one]) => one === name) ?? []
    return { failed: Number(failed), pending: Number(pending), first: timeOf(first), last: timeOf(last) }
  }
  const [, , , until] = rows.find(([one]) => one === 'until') ?? []
  const [, , , now] = rows.find(([one]) => one === 'now') ?? []
  return {
    now: timeOf(now),
    place: of('place'),
    address: of('address'),
    elsewhere: of('elsewhere'),
    until: until == null ? undefined : timeOf(until),
  }
}

function timeOf(value: unknown): number {
  return new Date(String(value)).getTime()
}

function tooMany(ms: number): Failure {
  return new Failure('too_many_attempts', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) },
  })
}

function newDevice(): string {
  return randomBytes(16).toString('base64url')
}

function placeDigest(kind: 'address' | 'device' | 'session' | 'password', name: string): string {
  return digest(`${kind} ${name}`)
}

/** The e-mail field may contain anything, even a password by mistake, so only a hash is kept. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
