import { randomBytes } from 'node:crypto'
import { type Lane, Lanes } from './lanes.ts'

/** argon2id with OWASP's parameters: 19 MiB and two passes, so that a burst of logins does not fill the memory. */
const argon2 = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** Of the whole process: all servers in it share its cores. */
const lanes = new Lanes()
let made = 0

/** How many hashes were begun so far. */
export function hashesMade(): number {
  return made
}

/** How many wait in a lane. */
export function hashesWaiting(lane: Lane): number {
  return lanes.waiting(lane)
}

export function hashSecret(secret: string, lane: Lane, signal?: AbortSignal): Promise<string> {
  return lanes.run(lane, signal, () => {
    made++
    return Bun.password.hash(secret, argon2)
  })
}

/** Whether a secret is the one of a hash. `undefined` for a hash costs the same, and is never right. */
export type Verify = (secret: string, hash: string | undefined) => Promise<boolean>

/** Verifies passwords in the lane of logins. If it throws `NotStarted`, none was verified. */
export function verifyInLane<T>(
  signal: AbortSignal | undefined,
  look: (verify: Verify) => Promise<T>,
): Promise<T> {
  return lanes.run('login', signal, () => look(verify))
}

function verify(secret: string, hash = decoy): Promise<boolean> {
  made++
  return Bun.password.verify(secret, hash)
}

/**
 * In the place of the hash of somebody who is not there: the time that a login takes must not tell. No secret belongs to
 * it: salt and hash are random.
 */
export const decoy = [
  '',
  'argon2id',
  'v=19',
  `m=${argon2.memoryCost},t=${argon2.timeCost},p=1`,
  random(),
  random(),
].join('$')

function random(): string {
  return randomBytes(32).toString('base64').replace('=', '')
}

export function randomPassword(): string {
  return randomBytes(15).toString('base64url')
}
