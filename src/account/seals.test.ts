import { expect, test } from 'bun:test'
import { Seals } from './seals.ts'

const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]
const hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA'

test('what is sealed is opened by the same secret, in the same place, and by nothing else', () => {
  const sealed = new Seals([a]).seal(hash, '7/3')
  expect(new Seals([a]).open(sealed, '7/3')).toBe(hash)
  expect(new Seals([b, a]).open(sealed, '7/3')).toBe(hash)
  expect(new Seals([b]).open(sealed, '7/3')).toBeUndefined()
  expect(new Seals([a]).open(sealed, '7/4')).toBeUndefined()
})

test('no bit of it can be changed, and two seals of the same value differ', () => {
  const seals = new Seals([a])
  const bytes = Buffer.from(seals.seal(hash, '7/3'), 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(seals.open(changed.toString('base64url'), '7/3')).toBeUndefined()
  }
  for (const short of ['', 'x', bytes.subarray(0, 27).toString('base64url')])
    expect(seals.open(short, '7/3')).toBeUndefined()
  expect(seals.seal(hash, '7/3')).not.toBe(seals.seal(hash, '7/3'))
})
