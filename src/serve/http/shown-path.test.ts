import { expect, test } from 'bun:test'
import { shownPath } from './shown-path.ts'

const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2Vycy8xIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ'

test('what may be shown is shown, and nothing else', () => {
  expect(shownPath('/api/rooms/', '')).toBe('/api/rooms/')
  expect(shownPath('/api/rooms/', 'limit=5&sort=-id&title=Attic&token=x')).toBe(
    '/api/rooms/?limit=5&sort=-id&title=…',
  )
})

test('a token is not, wherever it stands', () => {
  for (const [path, query] of [
    [`/api/rooms/${token}`, ''],
    [`/api/rooms/${token.replaceAll('.', '%2E')}`, ''],
    ['/api/rooms/', `limit=1%26token=${token}`],
    ['/api/rooms/', `${token}=1`],
  ] as const)
    expect(shownPath(path, query)).not.toContain('eyJzdWIi')
})

test('a path forty times as long costs about forty times as much, not forty times that', () => {
  const cost = (length: number) => {
    const path = `/api/${'a'.repeat(length)}`
    const started = process.cpuUsage()
    for (let at = 0; at < 30; at++) shownPath(path, '')
    const { user, system } = process.cpuUsage(started)
    return Math.max(1, user + system)
  }
  cost(1600)
  // Takes the shortest of several runs: other work on the machine can only add to it.
  const least = (length: number) => Math.min(...Array.from({ length: 7 }, () => cost(length)))
  expect(least(64_000) / least(1600)).toBeLessThan(300)
})
