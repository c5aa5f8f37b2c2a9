import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** What authenticator apps expect: SHA-1, six digits, 30 seconds. */
const DIGITS = 6
const STEP_SECONDS = 30
/** RFC 4226 asks for at least 128 bits, and recommends 160. */
const SECRET_BYTES = 20
/** Phones' clocks may be off, and people take their time: the step before and the step after are accepted. */
const DRIFT = [0, -1, 1]
const RECOVERY_CODES = 10
/** 80 bits: too many to guess, so a plain hash is enough. */
const RECOVERY_BYTES = 10
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** RFC 4226, section 5.3. */
export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigInt64BE(BigInt(step))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 0xf
  const number = hash.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** RFC 6238, section 4.2. */
export function stepAt(ms: number): number {
  return Math.floor(ms / 1000 / STEP_SECONDS)
}

/** Returns the step of a code that is valid at a time; undefined if the code is not valid. */
export function stepOfCode(secret: Buffer, code: string, ms = Date.now()): number | undefined {
  const sent = Buffer.from(code.replaceAll(' ', ''))
  const steps = DRIFT.map((drift) => stepAt(ms) + drift)
  return steps.filter((step) => {
    const right = Buffer.from(totpCode(secret, step))
    return sent.length === right.length && timingSafeEqual(sent, right)
  })[0]
}

/** RFC 4648, section 6, without padding. */
export function base32(bytes: Buffer): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return bits.replace(/.{1,5}/g, (five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)] ?? '')
}

/** Makes the address that authenticator apps read from a QR code. */
export function otpauthUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const parameters = `secret=${secret}&issuer=${encodeURIComponent(issuer)}`
  return `otpauth://totp/${label}?${parameters}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`
}

/** Makes recovery codes such as `ABCD-EFGH-IJKL-MNOP`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    (base32(randomBytes(RECOVERY_BYTES)).match(/.{4}/g) ?? []).join('-'),
  )
}

/** Ignores case, spaces and hyphens. */
export function recoveryDigest(code: string): string {
  const plain = code.toUpperCase().replace(/[\s-]/g, '')
  return createHash('sha256').update(`recovery code ${plain}`).digest('base64url')
}
