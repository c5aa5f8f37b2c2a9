import { randomBytes } from 'node:crypto'
import { Failure } from '../errors.ts'

/** argon2id with OWASP's parameters: 19 MiB and two passes, so that a burst of logins does not fill the memory. */
const argon2 = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
const AT_ONCE = 2
const WAITING_MAX = 500

let running = 0
const waiting: (() => void)[] = []

/** Hashes take a core each: a few run at a time, the others wait, and past that we say so. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running < AT_ONCE) running++
  else {
    if (waiting.length >= WAITING_MAX) throw new Failure('unavailable', { headers: { 'Retry-After': '5' } })
    await new Promise<void>((go) => waiting.push(go))
  }
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

export function hashSecret(secret: string): Promise<string> {
  return inTurn(() => Bun.password.hash(secret, argon2))
}

export function verifySecret(secret: string, hash: string): Promise<boolean> {
  return inTurn(() => Bun.password.verify(secret, hash))
}

let decoy: Promise<string> | undefined

/** Costs what a real check costs: who is not there must not be told by the time that it takes. */
export async function verifyNobody(secret: string): Promise<false> {
  decoy ??= hashSecret(randomBytes(32).toString('base64url'))
  await verifySecret(secret, await decoy)
  return false
}

export function randomPassword(): string {
  return randomBytes(15).toString('base64url')
}
