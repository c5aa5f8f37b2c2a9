import { randomBytes, timingSafeEqual } from 'node:crypto'
import { budget } from '../budget.ts'
import { hasPassed } from '../clock.ts'
import type { Tokens } from './tokens.ts'

const RANDOM_BYTES = 16
const TIME_BYTES = 6
const DIGEST_BYTES = 16
const LIFETIME_MS = budget.challengeMinutes * 60_000

/**
 * Makes a challenge for an authenticator to sign. The server signs it and puts its expiry into it, so that nothing is
 * stored before it is used. `purpose` says what the challenge is for, and for whom.
 */
export function newChallenge(tokens: Tokens, purpose: string): string {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(Date.now() + LIFETIME_MS, 0, TIME_BYTES)
  const head = Buffer.concat([randomBytes(RANDOM_BYTES), time])
  return Buffer.concat([head, digestOf(tokens, purpose, head)]).toString('base64url')
}

/** Whether this server made the challenge and it has not expired. The database knows whether it was used. */
export function isChallenge(tokens: Tokens, purpose: string, challenge: string): boolean {
  const bytes = Buffer.from(challenge, 'base64url')
  const head = bytes.subarray(0, RANDOM_BYTES + TIME_BYTES)
  const digest = bytes.subarray(RANDOM_BYTES + TIME_BYTES)
  if (digest.length !== DIGEST_BYTES || bytes.toString('base64url') !== challenge) return false
  if (!timingSafeEqual(digest, digestOf(tokens, purpose, head))) return false
  return !hasPassed(head.readUIntBE(RANDOM_BYTES, TIME_BYTES), LIFETIME_MS)
}

function digestOf(tokens: Tokens, purpose: string, head: Buffer): Buffer {
  return tokens.digest(`challenge ${purpose}`).update(head).digest().subarray(0, DIGEST_BYTES)
}
