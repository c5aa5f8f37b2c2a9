import { createHmac, type Hmac, randomBytes } from 'node:crypto'
import { budget } from '../budget.ts'
import { hasPassed } from '../clock.ts'
import type { Session } from '../plan/viewer/actor.ts'

/** The claims of a token. */
export interface Claims {
  readonly entity: string
  readonly id: number
  readonly session: Session
  /** Seconds since 1970. */
  readonly notBefore: number
}

/** A signed text, and when it expires. */
interface Issued {
  readonly token: string
  readonly expiresAt: string
}

const ALGORITHM = 'HS256'
const PURPOSE = 'access'
const TICKET = 'ticket'
/** A token that something else has signed with the same secret is not accepted. */
const ISSUER = 'takeback'
const AUDIENCE = 'takeback'
/** The mark of a session that began with several factors. */
const STRONG = 'mfa'
export const TOKEN_SECONDS = 24 * 60 * 60
/** How long a session lasts, however often its tokens are refreshed. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60
const CACHE_MAX = 10_000

export function newSession(epoch: number, strong: boolean): Session {
  const started = secondsNow()
  return { id: newName(), ...newToken(started), epoch, started, strong }
}

/** The same session with a new token, which does not outlive the session. */
export function renew(session: Session): Session {
  return { ...session, ...newToken(session.started) }
}

/** A short token with which an admin acts as a user with that epoch, within the session of the admin. */
export function actingSession(session: Session, by: { entity: string; id: number }, epoch: number): Session {
  const { token, expires } = newToken(session.started, budget.actingMinutes * 60)
  return { ...session, token, expires, epoch, by: { ...by, epoch: session.epoch } }
}

/** Whether the login is recent enough to count as a proof of identity. */
export function isRecent({ started }: Pick<Session, 'started'>): boolean {
  const ms = budget.recentLoginMinutes * 60_000
  return !hasPassed(started * 1000 + ms, ms, Date.now())
}

function newToken(started: number, seconds = TOKEN_SECONDS): { token: string; expires: number } {
  return { token: newName(), expires: Math.min(secondsNow() + seconds, started + SESSION_SECONDS) }
}

function newName(): string {
  return randomBytes(16).toString('base64url')
}

function secondsNow(): number {
  return Math.floor(Date.now() / 1000)
}

/** Loaded by the first token, since it is 46 files. */
function loadLibrary(): Promise<typeof import('jose')> {
  return import('jose')
}

/** Returns the payload of a token that was signed with this key and our one algorithm; undefined for all others. */
export async function verifySignature(token: string, key: Uint8Array): Promise<Uint8Array | undefined> {
  if (token.length > budget.tokenBytes || !token.split('.').every(isBase64Url)) return undefined
  const { compactVerify } = await loadLibrary()
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [ALGORITHM] })
    return payload
  } catch {
    return undefined
  }
}

/** A token has one spelling (RFC 7515, section 2). Decoders that accept spaces or stray bits would allow several. */
function isBase64Url(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

export class Tokens {
  readonly #key: Uint8Array
  readonly #accepted: readonly Uint8Array[]
  /** Claims by token. Only checks of signatures are remembered: times and the user's state are checked each time. */
  readonly #verified = new Map<string, Claims>()

  /** Signs with `secret`. Tokens that `previous` has signed are accepted too. */
  constructor(secret: string, previous?: string) {
    this.#key = new TextEncoder().encode(secret)
    this.#accepted = [this.#key, ...(previous === undefined ? [] : [new TextEncoder().encode(previous)])]
  }

  issue(claims: Omit<Claims, 'notBefore'>): Promise<Issued> {
    return this.#sign(claims, PURPOSE)
  }

  async #sign(
    { entity, id, session }: Omit<Claims, 'notBefore'>,
    use: string,
    more: Readonly<Record<string, string | number>> = {},
  ): Promise<Issued> {
    const { by, strong } = session
    const { SignJWT } = await loadLibrary()
    const token = await new SignJWT({
      ...more,
      // RFC 8693, section 4.1.
      ...(by !== undefined && { act: { sub: `${by.entity}/${by.id}`, epo: by.epoch } }),
      // RFC 8176, section 2.
      ...(strong && { amr: [STRONG] }),
      use,
      ses: session.id,
      epo: session.epoch,
      auth_time: session.started,
    })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setJti(session.token)
      .setSubject(`${entity}/${id}`)
      .setIssuedAt()
      .setExpirationTime(session.expires)
      .sign(this.#key)
    return { token, expiresAt: new Date(session.expires * 1000).toISOString() }
  }

  /** Issues a ticket, which stands for a token once. It has its own name, and says which token it stands for. */
  async issueTicket({ entity, id, session }: Omit<Claims, 'notBefore'>): Promise<Issued> {
    const expires = Math.min(secondsNow() + budget.ticketSeconds, session.expires)
    const ticket = { ...session, token: newName(), expires }
    return this.#sign({ entity, id, session: ticket }, TICKET, { tok: session.token, tex: session.expires })
  }

  /** Returns the claims that a ticket stands for, and its own name; undefined if it is not a ticket, or too old. */
  async verifyTicket(ticket: string): Promise<{ claims: Claims; name: string } | undefined> {
    for (const key of this.#accepted) {
      const payload = await verifySignature(ticket, key)
      const own = payload && readClaims(payload, TICKET)
      if (own === undefined || payload === undefined) continue
      const { tok, tex } = JSON.parse(new TextDecoder().decode(payload))
      const ms = budget.ticketSeconds * 1000
      if (typeof tok !== 'string' || !isWholeNumber(tex)) return undefined
      if (hasPassed(own.session.expires * 1000, ms, Date.now())) return undefined
      return {
        claims: { ...own, session: { ...own.session, token: tok, expires: tex } },
        name: own.session.token,
      }
    }
    return undefined
  }

  /** Starts a digest that only this service can make. */
  digest(purpose: string): Hmac {
    return createHmac('sha256', this.#key).update(`${purpose}\n`)
  }

  async verify(token: string): Promise<Claims | undefined> {
    const claims = this.#verified.get(token) ?? (await this.#check(token))
    if (claims === undefined) return undefined
    const { session, notBefore } = claims
    const ends = Math.min(session.expires, session.started + SESSION_SECONDS)
    const now = Date.now()
    return notBefore * 1000 <= now && !hasPassed(ends * 1000, TOKEN_SECONDS * 1000, now) ? claims : undefined
  }

  async #check(token: string): Promise<Claims | undefined> {
    let claims: Claims | undefined
    for (const key of this.#accepted) {
      const payload = await verifySignature(token, key)
      if (payload !== undefined) claims = readClaims(payload)
    }
    if (claims === undefined) return undefined
    if (this.#verified.size >= CACHE_MAX) {
      const [oldest] = this.#verified.keys()
      if (oldest !== undefined) this.#verified.delete(oldest)
    }
    this.#verified.set(token, claims)
    return claims
  }
}

/** Reads the claims of a signed payload. It must be a token for this purpose, and have all claims of one. */
export function readClaims(payload: Uint8Array, purpose = PURPOSE): Claims | undefined {
  let claims: unknown
  try {
    claims = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
  } catch {
    return undefined
  }
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return undefined
  const { use, iss, aud, sub, act, jti, ses, epo, auth_time, exp, nbf, amr } = claims as Record<
    string,
    unknown
  >
  const user = readSubject(sub)
  const by = act === undefined ? undefined : readActing(act)
  if (use !== purpose || iss !== ISSUER || !isFor(aud, AUDIENCE) || user === undefined) return undefined
  if (act !== undefined && by === undefined) return undefined
  if (typeof ses !== 'string' || typeof jti !== 'string') return undefined
  if (!isWholeNumber(epo) || !isWholeNumber(exp) || !isWholeNumber(auth_time)) return undefined
  if (nbf !== undefined && !(typeof nbf === 'number' && Number.isFinite(nbf))) return undefined
  const strong = Array.isArray(amr) && amr.includes(STRONG)
  const session = { id: ses, token: jti, epoch: epo, started: auth_time, expires: exp, strong }
  return { ...user, session: by === undefined ? session : { ...session, by }, notBefore: nbf ?? 0 }
}

function readSubject(subject: unknown): { entity: string; id: number } | undefined {
  const [, entity, id] =
    typeof subject === 'string' ? (/^([a-z][a-z0-9_]*)\/([1-9]\d{0,15})$/.exec(subject) ?? []) : []
  return entity === undefined ? undefined : { entity, id: Number(id) }
}

/** Reads the admin who acts as the subject of a token. */
function readActing(act: unknown): Session['by'] {
  if (typeof act !== 'object' || act === null) return undefined
  const { sub, epo } = act as Record<string, unknown>
  const admin = readSubject(sub)
  return admin === undefined || !isWholeNumber(epo) ? undefined : { ...admin, epoch: epo }
}

function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** `aud` may be one audience or several (RFC 7519, section 4.1.3). */
function isFor(audience: unknown, one: string): boolean {
  return audience === one || (Array.isArray(audience) && audience.includes(one))
}
