import { randomBytes } from 'node:crypto'

/** The secret signs tokens, so it must not be guessable. */
const MIN_BYTES = 32
/** A random secret has at least so many different characters, even one of hexadecimal digits. */
const MIN_DIFFERENT = 5

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** What is wrong with a secret, if anything. Spaces around it do not count. */
export function faultOfSecret(secret: string): string | undefined {
  const inner = secret.trim()
  if (Buffer.byteLength(inner) < MIN_BYTES) return `must have at least ${MIN_BYTES} bytes`
  if (new Set(inner).size < MIN_DIFFERENT) return `must have at least ${MIN_DIFFERENT} different characters`
  return undefined
}
