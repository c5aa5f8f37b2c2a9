import { expect, test } from 'bun:test'
import { hidePassword } from './location.ts'

test('a password is hidden, whatever is in it', () => {
  for (const [url, shown] of [
    ['postgres://u:pw@host/d', 'postgres://u@host/d'],
    ['postgres://u:p/w@host/d', 'postgres://u@host/d'],
    ['postgres://u:p@w:x@host:5432/d', 'postgres://u@host:5432/d'],
    ['postgres://host:5432/d', 'postgres://host:5432/d'],
    ['postgres://host/d?password=pw&x=1', 'postgres://host/d?password=…&x=1'],
  ] as const)
    expect(hidePassword(url)).toBe(shown)
})
