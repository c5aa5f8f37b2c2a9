import { createHash, randomInt } from 'node:crypto'

/** The prefix lets people, and programs that look for leaked secrets, recognise a key. */
const PREFIX = 'tb_'
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 178 bits: too many to guess. */
const RANDOM = 30
/** The largest CRC-32 has this many digits. */
const CHECKSUM = 6

/** Finds a key in a text. */
export const KEY_PATTERN = new RegExp(`${PREFIX}[0-9A-Za-z]{${RANDOM + CHECKSUM}}`)

/** A new key: `tb_`, random characters, and a checksum. */
export function newKey(): string {
  const random = Array.from({ length: RANDOM }, () => DIGITS[randomInt(DIGITS.length)]).join('')
  return `${PREFIX}${random}${checksumOf(random)}`
}

/** Whether a token begins like a key, valid or not. No other token does. */
export function looksLikeKey(token: string): boolean {
  return token.startsWith(PREFIX)
}

/** Whether a text has the form of a key. A mistyped one is refused without asking the database. */
export function isKeyText(token: string): boolean {
  if (token.length !== PREFIX.length + RANDOM + CHECKSUM || !KEY_PATTERN.test(token)) return false
  const random = token.slice(PREFIX.length, -CHECKSUM)
  return token.endsWith(checksumOf(random))
}

/** The digest of a key, which the database stores. A key is random enough that a plain hash cannot be reversed. */
export function keyDigest(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

/** CRC-32 in base 62, as in the tokens of code hosts. */
function checksumOf(text: string): string {
  let rest = Bun.hash.crc32(text)
  let digits = ''
  for (let at = 0; at < CHECKSUM; at++) {
    digits = `${DIGITS[rest % DIGITS.length]}${digits}`
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}
