import { randomBytes } from 'node:crypto'

/** What signs tokens must not be guessed. */
const MIN_BYTES = 32
/** Fewer were not drawn at random, not even from hexadecimal digits. */
const MIN_DIFFERENT = 5

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** The fault of a secret, if any. Spaces around it do not count. */
export function faultOfSecret(secret: string): string | undefined {
  const inner = secret.trim()
  if (Buffer.byteLength(inner) < MIN_BYTES) return `must have at least ${MIN_BYTES} bytes`
  if (new Set(inner).size < MIN_DIFFERENT) return `must have at least ${MIN_DIFFERENT} different characters`
  return undefined
}
