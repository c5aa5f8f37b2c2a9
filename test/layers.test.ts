import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { Glob } from 'bun'

const src = join(import.meta.dir, '..', 'src')
const files = [...new Glob('**/*.ts').scanSync(src)].filter((file) => !file.endsWith('.test.ts'))

/** The parts, from the ground up: each imports from those before it alone. */
const parts = [
  'budget',
  'clock',
  'errors',
  'observe',
  'declare',
  'takeback',
  'store',
  'config',
  'plan',
  'account',
  'journal',
  'api',
  'openapi',
  'serve',
  'app',
  'cli',
]
/** What is below a part, and still none of its business. */
const shut: Record<string, readonly string[]> = {
  takeback: ['budget', 'clock', 'errors', 'observe'],
  config: ['declare', 'takeback'],
  openapi: ['config', 'journal', 'observe', 'store', 'takeback'],
  serve: ['account', 'config', 'declare', 'journal', 'openapi', 'store', 'takeback'],
}

/** The rooms of `plan/`, from the ground up: each imports from those before it alone. `compile.ts` stands above them. */
const rooms = ['tables', 'viewer', 'condition', 'past', 'read', 'write', 'view', 'remove', 'compile.ts']

const isAbove = (one: string, other: string) => parts.indexOf(one) > parts.indexOf(other)

const partOf = (file: string) => file.split('/')[0]?.replace(/\.ts$/, '') ?? ''

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  const paths = [...text.matchAll(/(?:from|import) '(\.[^']+)'/g)].map(([, path]) => path ?? '')
  return paths.map((path) => relative(src, join(src, dirname(file), path)))
}

test('imports run one way', () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => !target.startsWith('..') && partOf(target) !== partOf(file))
      .filter(
        (target) => isAbove(partOf(target), partOf(file)) || shut[partOf(file)]?.includes(partOf(target)),
      )
      .map((target) => `${file} imports ${target}`),
  )
  expect(files.map(partOf).filter((part) => !parts.includes(part))).toEqual([])
  expect(files.length).toBeGreaterThan(50)
  expect(wrong).toEqual([])
})

test('the rooms of plan/ build on each other in order', () => {
  const roomOf = (file: string) => rooms.indexOf(file.split('/')[1] ?? '')
  const inPlan = files.filter((file) => partOf(file) === 'plan')
  const wrong = inPlan.flatMap((file) =>
    importsOf(file)
      .filter((target) => partOf(target) === 'plan' && roomOf(target) > roomOf(file))
      .map((target) => `${file} imports ${target}`),
  )
  expect(inPlan.filter((file) => roomOf(file) < 0)).toEqual([])
  expect(wrong).toEqual([])
})

test('no file imports itself in a circle', () => {
  const graph = new Map(
    files.map((file) => [file, importsOf(file).filter((target) => files.includes(target))]),
  )
  const circles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    else for (const target of graph.get(file) ?? []) if (!seen.has(target)) visit(target, [...path, file])
    seen.add(file)
  }
  const seen = new Set<string>()
  for (const file of files) visit(file, [])
  expect(circles).toEqual([])
})

test('only a Store knows which database it is', () => {
  const wrong = files
    .filter((file) => !file.startsWith('store/') && file !== 'config.ts')
    .flatMap((file) =>
      readFileSync(join(src, file), 'utf8')
        .split('\n')
        .filter(
          (line) =>
            /sqlite|postgres/i.test(line) &&
            !/sqlite:(data|FILE)|postgres:\/\/|sqlite\|pg|a PostgreSQL server/.test(line.trim()),
        )
        .map((line) => `${file}: ${line.trim()}`),
    )
  expect(wrong).toEqual([])
})

test('files stay within what a reader can hold', () => {
  const root = join(src, '..')
  const all = [...new Glob('{src,test,bench}/**/*.ts').scanSync(root)]
  expect(all.length).toBeGreaterThan(files.length)
  expect(all.filter((file) => readFileSync(join(root, file), 'utf8').split('\n').length > 400)).toEqual([])
})
