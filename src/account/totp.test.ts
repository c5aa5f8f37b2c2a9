import { expect, test } from 'bun:test'
import { base32, newRecoveryCodes, otpauthUri, recoveryDigest, stepAt, stepOfCode, totpCode } from './totp.ts'

const secret = Buffer.from('12345678901234567890')

/** RFC 6238, appendix B, for SHA-1: the last six of its eight digits. */
const vectors: readonly [seconds: number, code: string][] = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
]

test('codes are those of RFC 6238, one step before and after', () => {
  for (const [seconds, code] of vectors) {
    const step = stepAt(seconds * 1000)
    expect(totpCode(secret, step)).toBe(code)
    for (const drift of [-30, 0, 30]) expect(stepOfCode(secret, code, (seconds + drift) * 1000)).toBe(step)
    for (const drift of [-60, 60]) expect(stepOfCode(secret, code, (seconds + drift) * 1000)).toBeUndefined()
    expect(stepOfCode(secret, `${code.slice(0, 3)} ${code.slice(3)}`, seconds * 1000)).toBe(step)
  }
  expect(stepOfCode(secret, '', 59_000)).toBeUndefined()
})

test('secrets are written as authenticator apps read them', () => {
  // RFC 4648, section 10.
  const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map((text) => base32(Buffer.from(text)))
  expect(texts).toEqual(['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'])
  const uri = new URL(otpauthUri(base32(secret), 'Sea & Sun', 'ada+1@example.com'))
  expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
    'otpauth:',
    'totp',
    '/Sea & Sun:ada+1@example.com',
  ])
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    issuer: 'Sea & Sun',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

test('recovery codes are ten, and however they are typed', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) {
    expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
    expect(recoveryDigest(` ${code.toLowerCase().replaceAll('-', '')}`)).toBe(recoveryDigest(code))
  }
})
