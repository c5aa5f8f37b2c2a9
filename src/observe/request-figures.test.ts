import { expect, test } from 'bun:test'
import { RequestFigures } from './request-figures.ts'

interface Shown {
  readonly endpoints: Readonly<Record<string, string | number>>[]
  readonly minutes: Readonly<Record<string, string | number>>[]
}

const shownBy = (figures: RequestFigures) => figures.state() as Shown
const route = { path: '/api/rooms/:id' }

test('percentiles are right within a fifth, whatever the order', () => {
  const figures = new RequestFigures()
  const all = Array.from({ length: 1000 }, (_, at) => ((at * 7) % 1000) + 1)
  for (const ms of all) figures.add(route, 'GET', { status: ms > 990 ? 500 : 200, started: 0, ms })
  const [one] = shownBy(figures).endpoints
  expect(one).toMatchObject({ method: 'GET', path: '/api/rooms/{id}', count: 1000, errors: 10, max_ms: 1000 })
  for (const [name, exact] of [
    ['p50_ms', 500],
    ['p95_ms', 950],
  ] as const) {
    expect(Number(one?.[name])).toBeGreaterThanOrEqual(exact)
    expect(Number(one?.[name])).toBeLessThan(exact * 1.2)
  }
})

test('methods that nobody knows, and paths that are not served, are one line each', () => {
  const figures = new RequestFigures()
  for (let at = 0; at < 100; at++) {
    figures.add(route, `M${at}`, { status: 405, started: 0, ms: 0 })
    figures.add(undefined, `M${at}`, { status: 404, started: 0, ms: 1e9 })
  }
  expect(shownBy(figures).endpoints.map(({ path, count }) => [path, count])).toEqual([
    ['/api/rooms/{id}', 100],
    ['', 100],
  ])
})

test('minutes are a ring of sixty', () => {
  const figures = new RequestFigures()
  const now = performance.now()
  for (let at = 200; at >= 0; at--)
    figures.add(route, 'GET', { status: 200, started: now - at * 60_000, ms: 1 })
  const { minutes, endpoints } = shownBy(figures)
  expect([endpoints[0]?.count, minutes.length]).toEqual([201, 60])
  expect(minutes.map(({ at }) => String(at))).toEqual(minutes.map(({ at }) => String(at)).sort())
  expect(minutes.every(({ count }) => count === 1)).toBe(true)
})
