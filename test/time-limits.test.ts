import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'

const root = join(import.meta.dir, '..')
const limit = Number(/--timeout=(\d+)/.exec(readFileSync(join(root, 'test/run.ts'), 'utf8'))?.[1])
const files = [...new Glob('{src,test}/**/*.ts').scanSync(root)].filter(
  (file) => !file.includes('time-limits'),
)

// `setDefaultTimeout` in a preload holds for the first file only, and bunfig.toml has no setting for it. The limit of a
// browser is another one.
test('all tests share one time limit, given to bun test itself', () => {
  expect(limit).toBeGreaterThanOrEqual(60_000)
  expect(
    files.filter((file) => /(?<!\.)setDefaultTimeout/.test(readFileSync(join(root, file), 'utf8'))),
  ).toEqual([])
})

test('no test gives itself less time than that', () => {
  const short = files.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n')
    return lines.flatMap((line, at) => {
      const own = /^\s*\}, ([\d_]+)\)$/.exec(line) ?? (lines[at + 1] === ')' && /^ {2}([\d_]+),$/.exec(line))
      return own && Number(own[1]?.replaceAll('_', '')) < limit ? [`${file}:${at + 1}`] : []
    })
  })
  expect(short).toEqual([])
})
