import { expect, test } from 'bun:test'
import { forbidden, invalidData } from '../declare/refusals.ts'
import { Failure } from '../errors.ts'
import { apiErrorOf } from './errors.ts'
import { CodeFailed, guarded } from './guard.ts'

const never = new AbortController().signal

/** Returns how code that throws this ends. */
async function outcome(thrown: unknown): Promise<unknown> {
  return guarded({ name: 'it', until: never, run: () => Promise.reject(thrown) }).catch((error) => error)
}

test('code that never ends is given up, and what it throws afterwards ends nothing', async () => {
  const until = AbortSignal.timeout(20)
  const { promise, reject } = Promise.withResolvers<void>()
  const late = await guarded({ name: 'it', until, run: () => promise }).catch((error) => error)
  expect([late.code, late.cause.message]).toEqual(['unavailable', 'it has taken too long'])
  reject(new Error('nobody hears this'))
  const again = await guarded({ name: 'it', until, run: () => 1 }).catch((error) => error)
  expect(again.code).toBe('unavailable')
})

test('its refusals are answers, and so are failures of ours; anything else is a mistake that names it', async () => {
  expect(await outcome(invalidData({ a: 'is wrong' }))).toMatchObject({
    code: 'invalid_data',
    errors: new Map([['a', ['is wrong']]]),
  })
  expect(await outcome(forbidden('No.'))).toMatchObject({ code: 'forbidden', message: 'No.' })
  for (const ours of [new Failure('unavailable'), new Failure('busy')])
    expect(await outcome(apiErrorOf(ours, false))).toBe(ours)
  for (const wrong of [apiErrorOf(new Failure('not_found'), true), new Error('x'), 'x', undefined])
    expect(await outcome(wrong)).toBeInstanceOf(CodeFailed)
  expect(await guarded({ name: 'it', until: never, run: async () => 5 })).toBe(5)
})
