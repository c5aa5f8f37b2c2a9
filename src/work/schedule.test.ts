import { expect, test } from 'bun:test'
import { budget } from '../budget.ts'
import { firstTime, longestPause, longestWait, nextTime, pauseAfter } from './schedule.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.UTC(2027, 4, 1, 12, 30)
/** Every full hour. */
const hourly = { next: (after: Date) => new Date(Math.floor(after.getTime() / HOUR + 1) * HOUR) }
const FULL_HOUR = Date.UTC(2027, 4, 1, 13)

test('what recurs comes so long after it was begun, but never in the past', () => {
  expect(nextTime({ every: HOUR }, NOW, NOW + MINUTE)).toBe(NOW + HOUR)
  expect(nextTime({ every: MINUTE }, NOW, NOW + HOUR)).toBe(NOW + HOUR)
  expect(nextTime(hourly, NOW, NOW + MINUTE)).toBe(FULL_HOUR)
  expect(nextTime(hourly, NOW, FULL_HOUR)).toBe(FULL_HOUR + HOUR)
})

test('the first time is now, or when it says itself', () => {
  expect(firstTime({ every: HOUR }, NOW)).toBe(NOW)
  expect(firstTime(hourly, NOW)).toBe(FULL_HOUR)
})

test('nothing waits longer than for its next regular time, or for the longest pause after a failure', () => {
  expect(longestWait({ every: DAY }, 0, NOW)).toBe(DAY)
  expect(longestWait({ every: DAY }, 1, NOW)).toBe(DAY)
  expect(longestWait({ every: SECOND }, 0, NOW)).toBe(SECOND)
  expect(longestWait({ every: SECOND }, 9, NOW)).toBe(MINUTE)
  expect(longestWait(hourly, 0, NOW)).toBe(30 * MINUTE)
})

test('pauses double, from a second to an hour, and somewhat at random', () => {
  for (let round = 0; round < 100; round++) {
    for (let failures = 1; failures <= 12; failures++) {
      const doubled = SECOND * 2 ** (failures - 1)
      expect(pauseAfter(failures)).toBeWithin(doubled, Math.min(doubled * 1.25, HOUR) + 1)
    }
    for (const failures of [13, 40, 10_000]) expect(pauseAfter(failures)).toBe(HOUR)
    expect(pauseAfter(20, MINUTE)).toBe(MINUTE)
  }
  expect(new Set(Array.from({ length: 20 }, () => pauseAfter(3))).size).toBeGreaterThan(1)
})

test('recurring work pauses no longer than it waits anyway, but for a minute', () => {
  expect([SECOND, 10 * MINUTE, DAY].map(longestPause)).toEqual([MINUTE, 10 * MINUTE, HOUR])
})

test('all attempts at a task take about a day', () => {
  let ms = 0
  for (let attempt = 1; attempt < budget.taskAttempts; attempt++) ms += pauseAfter(attempt)
  expect(ms / DAY).toBeWithin(0.95, 1.1)
})
