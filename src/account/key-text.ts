import { createHash, randomInt } from 'node:crypto'

/** So that people and programs that look for leaked secrets recognise a key. */
const PREFIX = 'tb_'
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 178 bits: nobody guesses that. */
const RANDOM = 30
/** As many digits as the largest CRC-32 has. */
const CHECKSUM = 6

/** Where a key stands in a text. */
export const KEY_PATTERN = new RegExp(`${PREFIX}[0-9A-Za-z]{${RANDOM + CHECKSUM}}`)

/** A new key: `tb_`, random characters, and a checksum. */
export function newKey(): string {
  const random = Array.from({ length: RANDOM }, () => DIGITS[randomInt(DIGITS.length)]).join('')
  return `${PREFIX}${random}${checksumOf(random)}`
}

/** Whether a token is a key, right or wrong: no other token begins so. */
export function looksLikeKey(token: string): boolean {
  return token.startsWith(PREFIX)
}

/** Whether it can be a key. A mistyped one is refused without a look at the database. */
export function isKeyText(token: string): boolean {
  if (token.length !== PREFIX.length + RANDOM + CHECKSUM || !KEY_PATTERN.test(token)) return false
  const random = token.slice(PREFIX.length, -CHECKSUM)
  return token.endsWith(checksumOf(random))
}

/** What the database has of a key. It is random enough that a plain hash cannot be reversed. */
export function keyDigest(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

/** CRC-32 with 62 digits, as tokens of code hosts have it. */
function checksumOf(text: string): string {
  let rest = Bun.hash.crc32(text)
  let digits = ''
  for (let at = 0; at < CHECKSUM; at++) {
    digits = `${DIGITS[rest % DIGITS.length]}${digits}`
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}
