import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { entityNameProblem } from '../../src/declare/entity-names.ts'
import { consoleRoutes } from '../../src/serve/http/console.ts'

// Lists are at `/console/<entity>`: a page at a name that a type may have would hide the list of that type.
test('no page and no file of the console is where the list of a type could be', () => {
  const pages = readFileSync(join(import.meta.dir, '../../console/app.tsx'), 'utf8')
  const paths = [
    ...[...pages.matchAll(/<Route path="([^"]+)"/g)].map(([, path]) => path ?? ''),
    ...consoleRoutes().map(({ path }) => path.replace(/^\/console/, '')),
  ]
  const names = paths.map((path) => path.split('/')[1] ?? '').filter((name) => /^\w/.test(name))
  expect(names).toContain('operations')
  expect(names.filter((name) => entityNameProblem(name) === undefined)).toEqual([])
})
