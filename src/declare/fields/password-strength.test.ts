import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { dictionary } from '@zxcvbn-ts/language-common'
import fc from 'fast-check'
import { budget } from '../../budget.ts'
import { PASSWORD_MIN } from './password.ts'
import { strengthOf } from './password-strength.ts'

const common = [...(dictionary['passwords-common'] as Iterable<string>)]
const words = [...(dictionary['diceware-common'] as Iterable<string>)]
const isWeak = (password: string, own?: string[]) => strengthOf(password, own) < budget.passwordBits
const long = (password: string) => [...password].length >= PASSWORD_MIN

const capitals = (word: string) => word.replace(/^./, (letter) => letter.toUpperCase())
const leet = (word: string) =>
  word.replace(/[aeios]/g, (letter) => ({ a: '@', e: '3', i: '1', o: '0', s: '$' })[letter] ?? letter)

/** How people change a common password that is too short or was refused. */
const changes: Record<string, (word: string) => string> = {
  'as it is': (word) => word,
  'in capitals': (word) => word.toUpperCase(),
  capitalised: capitals,
  leet,
  'capitalised leet with a sign': (word) => `${capitals(leet(word))}!`,
  backwards: (word) => [...word].reverse().join(''),
  'with digits': (word) => `${word}1234`,
  'with a year': (word) => `${capitals(word)}2024`,
  'after digits': (word) => `123${word}`,
  twice: (word) => word + word,
  'twice, with a space': (word) => `${word} ${word}`,
  'three times': (word) => word.repeat(3),
  'in signs': (word) => `!!!${word}!!!`,
}

for (const [name, change] of Object.entries(changes))
  test(`of the commonest passwords, ${name}, 99 of 100 with twelve characters or more are refused`, () => {
    const made = [...common.slice(0, 1000), ...common.filter(long)].map(change).filter(long)
    const passed = made.filter((password) => !isWeak(password))
    expect([passed.length * 100 <= made.length, passed.slice(0, 10)]).toEqual([true, expect.any(Array)])
    expect(made.length).toBeGreaterThan(300)
  })

test('sequences, walks over the keyboard and repetitions are refused, wherever they begin and whatever their length', () => {
  const rows = [
    'abcdefghijklmnopqrstuvwxyz',
    '12345678901234567890',
    'qwertyuiopasdfghjklzxcvbnm',
    '1qaz2wsx3edc4rfv5tgb6yhn',
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...rows),
      fc.nat(10),
      fc.integer({ min: 12, max: 30 }),
      fc.boolean(),
      (row, start, length, back) => {
        const piece = row.slice(start, start + length)
        const password = back ? [...piece].reverse().join('') : piece
        fc.pre(long(password))
        expect([password, isWeak(password)]).toEqual([password, true])
      },
    ),
  )
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 3 }),
      fc.integer({ min: 12, max: 100 }),
      (unit, times) => {
        expect([unit, isWeak(unit.repeat(times))]).toEqual([unit, true])
      },
    ),
  )
})

test('the own e-mail is refused, whole or in part, with a little around it', () => {
  const part = fc.stringMatching(/^[a-z]{5,12}$/)
  const around = fc.stringMatching(/^[0-9!.]{0,2}$/)
  fc.assert(
    fc.property(part, part, around, around, (local, domain, before, after) => {
      const own = [`${local}@${domain}.org`, local, domain]
      expect(isWeak(`${before}${local}@${domain}.org${after}`, own)).toBe(true)
      expect(isWeak(`${capitals(local)}${after}`, own)).toBe(true)
    }),
  )
})

test('random ones pass: words, bytes, and what a password manager makes', () => {
  const draw = <T>(from: readonly T[]) => from[randomBytes(4).readUInt32BE() % from.length]
  for (let at = 0; at < 200; at++) {
    const phrase = Array.from({ length: 4 }, () => draw(words)).join(draw([' ', '-', '']))
    expect([phrase, isWeak(phrase)]).toEqual([phrase, false])
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      const password = randomBytes(15).toString(encoding)
      expect([password, isWeak(password)]).toEqual([password, false])
    }
  }
})

test('whatever is sent, it has an answer, and a long one takes no longer', () => {
  // Any character. `unit: 'binary'` means the same, but takes most of a second to build.
  const unit = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
  fc.assert(fc.property(fc.string({ unit, maxLength: 1024 }), (text) => strengthOf(text) >= 0))
  const looked = 'kettle heron basket violin '
  expect(strengthOf(looked.repeat(30))).toBe(strengthOf(looked.repeat(3)))
})
