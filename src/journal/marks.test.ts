import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Marks } from './marks.ts'

const at = (ms: number) => new Date(Date.UTC(2030, 0, 1) + ms).toISOString()
const HOUR = 3_600_000

/** Looks at the clock: the time since the look before, and the number of changes in between. */
const looks = fc.array(
  fc.record({ after: fc.integer({ min: -3 * HOUR, max: 60 * HOUR }), changes: fc.nat(9) }),
  {
    maxLength: 900,
  },
)

test('marks never say of a change what is not so', () => {
  fc.assert(
    fc.property(looks, fc.double({ min: 0, max: 1, noNaN: true }), (all, part) => {
      let [now, newest, seq] = [0, 0, 0]
      let marks = Marks.read(undefined)
      /** The true time of the change at each place. */
      const made: number[] = []
      for (const { after, changes } of all) {
        // A clock that is set back is wrong: no change is earlier than the ones before it.
        const wrong = now + after < newest
        now = Math.max(newest, now + after)
        for (let one = 0; one < changes; one++) made[++seq] = now
        marks = marks.with({ time: at(wrong ? newest - 1 : now), seq })
        newest = now
      }
      marks = Marks.read(String(marks))
      const time = Math.floor(newest * part)
      const [before, later] = [marks.surelyBefore(at(time)), marks.surelyAfter(at(time))]
      for (let place = 1; place <= seq; place++) {
        if (place <= before) expect(made[place]).toBeLessThanOrEqual(time)
        if (place > later) expect(made[place]).toBeGreaterThanOrEqual(time)
      }
    }),
  )
})

test('there are never many, and the last one is always there', () => {
  let marks = Marks.read(undefined)
  for (let hour = 0; hour < 24 * 2000; hour++) marks = marks.with({ time: at(hour * HOUR), seq: hour })
  expect(JSON.parse(String(marks)).length).toBeLessThanOrEqual(400)
  expect(marks.surelyBefore(at(24 * 3000 * HOUR))).toBe(24 * 2000 - 1)
  expect(marks.surelyAfter(at(0))).toBeLessThan(24 * 20)
})
