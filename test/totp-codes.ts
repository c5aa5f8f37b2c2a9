import { stepAt, totpCode } from '../src/account/totp.ts'

/** Returns the codes of an authenticator app with this secret, now and some steps from now. */
export function codesOf(secret: string): (drift: number) => string {
  const bits = [...secret].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  )
  const bytes = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  return (drift) => totpCode(bytes, stepAt(Date.now()) + drift)
}
