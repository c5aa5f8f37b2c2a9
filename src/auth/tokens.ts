import { randomBytes } from 'node:crypto'
import { compactVerify, SignJWT } from 'jose'
import { budget } from '../budget.ts'

/** What a token says. `session` is one login: refreshed tokens share it, logout ends it. */
export interface Claims {
  readonly entity: string
  readonly id: number
  readonly session: string
  readonly epoch: number
  /** Seconds since 1970. */
  readonly expires: number
}

const ALGORITHM = 'HS256'
const PURPOSE = 'access'
export const TOKEN_SECONDS = 24 * 60 * 60
const CACHE_MAX = 10_000

export function newSession(): string {
  return randomBytes(16).toString('base64url')
}

/** The payload of a token that this key has signed with the one algorithm that it signs with; undefined for all others. */
export async function verifySignature(token: string, key: Uint8Array): Promise<Uint8Array | undefined> {
  if (token.length > budget.tokenBytes || !token.split('.').every(isBase64Url)) return undefined
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [ALGORITHM] })
    return payload
  } catch {
    return undefined
  }
}

/** One spelling per token (RFC 7515, section 2): decoders that forgive spaces or stray bits would let one be written in many. */
function isBase64Url(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

export class Tokens {
  readonly #key: Uint8Array
  /** By the whole token. Only the signature's check is remembered: expiry and the user's state are looked at each time. */
  readonly #verified = new Map<string, Claims>()

  constructor(secret: string) {
    this.#key = new TextEncoder().encode(secret)
  }

  async issue({
    entity,
    id,
    session,
    epoch,
  }: Omit<Claims, 'expires'>): Promise<{ token: string; expiresAt: string }> {
    const now = Math.floor(Date.now() / 1000)
    const expires = now + TOKEN_SECONDS
    const token = await new SignJWT({ use: PURPOSE, ses: session, epo: epoch })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setSubject(`${entity}/${id}`)
      .setIssuedAt(now)
      .setExpirationTime(expires)
      .sign(this.#key)
    return { token, expiresAt: new Date(expires * 1000).toISOString() }
  }

  async verify(token: string): Promise<Claims | undefined> {
    const claims = this.#verified.get(token) ?? (await this.#check(token))
    return claims !== undefined && claims.expires * 1000 > Date.now() ? claims : undefined
  }

  async #check(token: string): Promise<Claims | undefined> {
    const payload = await verifySignature(token, this.#key)
    const claims = payload === undefined ? undefined : readClaims(payload)
    if (claims === undefined) return undefined
    if (this.#verified.size >= CACHE_MAX) {
      const [oldest] = this.#verified.keys()
      if (oldest !== undefined) this.#verified.delete(oldest)
    }
    this.#verified.set(token, claims)
    return claims
  }
}

/** Signed is not enough: it must be an access token, and say all that one says. */
export function readClaims(payload: Uint8Array): Claims | undefined {
  let claims: unknown
  try {
    claims = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
  } catch {
    return undefined
  }
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return undefined
  const { use, sub, ses, epo, exp } = claims as Record<string, unknown>
  const [, entity, id] =
    typeof sub === 'string' ? (/^([a-z][a-z0-9_]*)\/([1-9]\d{0,15})$/.exec(sub) ?? []) : []
  if (use !== PURPOSE || entity === undefined || typeof ses !== 'string') return undefined
  if (!Number.isSafeInteger(epo) || !Number.isSafeInteger(exp)) return undefined
  return { entity, id: Number(id), session: ses, epoch: epo as number, expires: exp as number }
}
