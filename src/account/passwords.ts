import { randomBytes } from 'node:crypto'
import { type Lane, Lanes } from './lanes.ts'

/** argon2id with OWASP's parameters: 19 MiB and two passes, so that a burst of logins does not fill the memory. */
const argon2 = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** One for the whole process: all servers in it share its cores. */
const lanes = new Lanes()
let made = 0

/** How many hashes were started so far. */
export function hashesMade(): number {
  return made
}

/** How many calls wait in a lane. */
export function hashesWaiting(lane: Lane): number {
  return lanes.waiting(lane)
}

export function hashSecret(secret: string, lane: Lane, signal?: AbortSignal): Promise<string> {
  return lanes.run(lane, signal, () => {
    made++
    return Bun.password.hash(secret, argon2)
  })
}

/** Whether a secret matches a hash. If there is no hash, it takes as long, and is always false. */
export type Verify = (secret: string, hash: string | undefined) => Promise<boolean>

/** Verifies passwords in the lane of logins. If it throws `NotStarted`, no password was verified. */
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
 * A hash for accounts that do not exist: the time of a login must not reveal whether they do. No secret matches it:
 * salt and hash are random.
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
