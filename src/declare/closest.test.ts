import { expect, test } from 'bun:test'
import { closest } from './closest.ts'

test('a mistyped word is answered with the one that was meant', () => {
  const known = ['database', 'config', 'port', 'host']
  for (const [word, meant] of [
    ['databse', 'database'],
    ['cofnig', 'config'],
    ['prot', 'port'],
    ['Host', 'host'],
  ] as const)
    expect(closest(word, known)).toBe(meant)
  for (const word of ['verbose', 'x', '', 'potato']) expect(closest(word, known)).toBeUndefined()
})
