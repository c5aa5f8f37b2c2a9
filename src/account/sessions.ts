import { budget } from '../budget.ts'
import { type Caller, type Session, userOf } from '../plan/viewer/actor.ts'
import type { Params } from '../store/dialect.ts'
import type { ServiceTime } from '../store/service-time.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { ownerLock, sessionLock } from './owner-lock.ts'
import { compileSessions, SEEN_MS, type SessionStatements, sessionColumns } from './session-statements.ts'
import { TOKEN_SECONDS } from './tokens.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/**
 * How long an ended session or token is remembered, in service time. A token lives for a day by the wall clock. The
 * extra week makes sure that no token is valid again if that clock is set back.
 */
const ENDED_MS = TOKEN_SECONDS * 1000 + 7 * DAY_MS
/** How long a session without a new token stays listed, in service time: a day longer than its token lives. */
const LISTED_MS = TOKEN_SECONDS * 1000 + DAY_MS
const KNOWN_MAX = 10_000

/** How a user has logged in. */
export type SessionKind = 'password' | 'passkey' | 'provider'

/** The client that uses a session. */
export interface Visitor {
  readonly address: string
  /** The `User-Agent` header. */
  readonly agent: string | null
}

/** The user whom sessions belong to. Sessions of another epoch have ended. */
export interface SessionOwner extends AccountId {
  readonly epoch: number
}

/** A session as its owner sees it. */
export interface ListedSession {
  readonly id: string
  readonly how: string
  readonly started_at: string
  readonly seen_at: string
  readonly expires_at: string
  readonly address: string
  readonly user_agent: string | null
}

/** Steps that refuse a transaction if the session of its caller has ended. */
export interface CallingSession {
  readonly steps: readonly Step[]
  readonly params: Params
}

/** For transactions that no session asks for. */
export const noSession: CallingSession = Object.freeze({ steps: [], params: {} })

/**
 * The sessions of users: a list for people to read, and the sessions and tokens that have ended. Only the latter decide
 * whether a token works: a session that is not listed works too.
 */
export class Sessions {
  /** Ends `$token`, unless it or its `$session` has ended already. Needs `endedNow`. */
  readonly replace: readonly Step[]
  readonly #store: Store
  readonly #serviceTime: ServiceTime
  readonly #statements: SessionStatements
  readonly #lock: (entity: string) => Step
  readonly #lockCaller: (entity: string) => Step
  readonly #lockCallerAlone: (entity: string) => Step
  /** When the use of each session was last noted, by `performance.now()`. */
  readonly #seen = new Map<string, number>()

  constructor(store: Store, serviceTime: ServiceTime) {
    this.#store = store
    this.#serviceTime = serviceTime
    this.#statements = compileSessions(store.dialect)
    this.#lock = ownerLock(store.dialect, '$id')
    this.#lockCaller = sessionLock(store.dialect)
    this.#lockCallerAlone = sessionLock(store.dialect, true)
    this.replace = this.#statements.replace
  }

  /** Lists a new session, unless its user is gone: then its token does not work either. */
  async start(owner: SessionOwner, session: Session, how: SessionKind, visitor: Visitor): Promise<void> {
    const steps = [this.#lock(owner.entity), ...this.#statements.start]
    await this.#store.write(steps, this.#rowOf(owner, session, { how, visitor }))
    this.#writeUse(session.id)
  }

  /** Replaces a token by the next one. False if it or its session has ended. Of many at once, one succeeds. */
  async renew(
    owner: SessionOwner,
    { former, next, visitor }: { former: Session; next: Session; visitor: Visitor },
    signal: AbortSignal,
  ): Promise<boolean> {
    // Sessions older than the list began with a password.
    const row = this.#rowOf(owner, next, { how: 'password', visitor })
    const params = { ...row, ...this.endedNow, $token: former.token }
    const steps = [this.#lock(owner.entity), ...this.#statements.renew]
    return (await this.#store.write(steps, params, signal)).done
  }

  /** Refuses a transaction, at `SESSION`, if the session of its caller has ended meanwhile. */
  holding({ actor, session }: Pick<Caller, 'actor' | 'session'>): CallingSession {
    const user = userOf(actor)
    if (user === undefined || session === undefined) return noSession
    const params = {
      $calling_id: user.id,
      $calling_epoch: session.epoch,
      $calling_session: session.id,
      $calling_token: session.token,
    }
    return { steps: [this.#lockCaller(user.entity)], params }
  }

  /** The same, and ends all other sessions of the caller. */
  holdingAlone(caller: Pick<Caller, 'actor' | 'session'>): CallingSession {
    const calling = this.holding(caller)
    const entity = userOf(caller.actor)?.entity
    if (calling === noSession || entity === undefined) return noSession
    return {
      steps: [this.#lockCallerAlone(entity), ...this.#statements.endBeside],
      params: { ...calling.params, ...this.endedNow, $calling_entity: entity },
    }
  }

  /** Ends one session of a user; false if the user has no such session. */
  async end(owner: SessionOwner, session: string, signal: AbortSignal): Promise<boolean> {
    const params = { ...ownerParams(owner), ...this.endedNow, $session: session }
    return (await this.#store.write(this.#statements.endListed, params, signal)).done
  }

  /** Ends a session, listed or not. */
  async endOwn(session: string, signal: AbortSignal): Promise<void> {
    await this.#store.write(this.#statements.end, { ...this.endedNow, $session: session }, signal)
  }

  /** Ends all listed sessions of a user except this one. */
  async endOthers(owner: SessionOwner, session: string, signal: AbortSignal): Promise<void> {
    const params = { ...ownerParams(owner), ...this.endedNow, $session: session }
    await this.#store.write(this.#statements.endOthers, params, signal)
  }

  /** Lists the sessions of a user, newest first. */
  async list(owner: SessionOwner): Promise<ListedSession[]> {
    const rows = await this.#store.read(this.#statements.list, ownerParams(owner))
    return rows.map((row) => {
      const { session, how, started, seen, expires, address, agent } = sessionColumns.read(row)
      return {
        id: String(session),
        how: String(how),
        started_at: timeText(started),
        seen_at: timeText(seen),
        expires_at: timeText(expires),
        address: String(address),
        user_agent: agent === null ? null : String(agent),
      }
    })
  }

  /**
   * Records that a session is in use, once every few minutes. No request waits for it. If it fails, the use is recorded
   * a few minutes later.
   */
  recordUse({ id }: Session): void {
    const known = this.#seen.get(id)
    if (known !== undefined && performance.now() - known < SEEN_MS) return
    this.#writeUse(id)
    this.#store.write(this.#statements.recordUse, { $session: id }).catch(() => {})
  }

  #writeUse(session: string): void {
    if (this.#seen.size >= KNOWN_MAX) this.#seen.clear()
    this.#seen.set(session, performance.now())
  }

  /** Removes sessions from the list that have long expired. */
  async clear(store: Store): Promise<void> {
    await store.write(this.#statements.clear, { $now: this.#serviceTime.text() })
  }

  /** Until when a session that ends now is remembered, and the time before which ended ones are forgotten. */
  get endedNow(): Params {
    return { $until: this.#serviceTime.text(ENDED_MS), $now: this.#serviceTime.text() }
  }

  #rowOf(
    owner: SessionOwner,
    session: Session,
    { how, visitor }: { how: SessionKind; visitor: Visitor },
  ): Params {
    return {
      ...ownerParams(owner),
      $session: session.id,
      $how: how,
      $started: textOf(session.started),
      $expires: textOf(session.expires),
      $listed: this.#serviceTime.text(LISTED_MS),
      $address: visitor.address,
      $agent: visitor.agent === null ? null : printable(visitor.agent),
    }
  }
}

function ownerParams({ entity, id, epoch }: SessionOwner): Params {
  return { $entity: entity, $id: id, $epoch: epoch }
}

/** Formats seconds since 1970. */
function textOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function timeText(value: unknown): string {
  return new Date(String(value)).toISOString()
}

/** Makes a `User-Agent` short, one line, and storable. */
function printable(agent: string): string {
  return agent
    .replace(/\p{C}+|\s+/gu, ' ')
    .trim()
    .slice(0, budget.agentCharacters)
    .toWellFormed()
}
