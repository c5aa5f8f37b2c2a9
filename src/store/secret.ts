import { randomBytes } from 'node:crypto'

/** What signs tokens must not be guessed. */
export const SECRET_MIN_BYTES = 32

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}
