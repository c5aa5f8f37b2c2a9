import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../src/errors.ts'

test('docs/errors.md has every code of the catalogue, with its status, and no other', () => {
  const text = readFileSync(join(import.meta.dir, '..', 'docs', 'errors.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ])
  expect(rows).toEqual(Object.entries(catalogue).map(([code, { status }]) => [code, status]))
})

test('statuses and messages are fit to be sent', () => {
  for (const [code, { status, message }] of Object.entries(catalogue)) {
    expect([code, status >= 400 && status < 600]).toEqual([code, true])
    expect([code, /^[A-Z].*[.]$|^Invalid Data$/.test(message)]).toEqual([code, true])
  }
})
