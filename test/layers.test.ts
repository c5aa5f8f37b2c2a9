import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { Glob, Transpiler } from 'bun'

const src = join(import.meta.dir, '..', 'src')
const files = [...new Glob('**/*.ts').scanSync(src)].filter((file) => !file.endsWith('.test.ts'))

/** The parts, from the bottom up: each imports only from those before it. */
const parts = [
  'packaging',
  'budget',
  'clock',
  'maybe-promise',
  'in-time',
  'errors',
  'observe',
  'declare',
  'takeback',
  'store',
  'config',
  'plan',
  'account',
  'journal',
  'work',
  'live',
  'webhooks',
  'mail',
  'api',
  'code',
  'openapi',
  'serve',
  'mcp',
  'app',
  'cli',
]
/** For each part, the parts below it that it must not import. */
const shut: Record<string, readonly string[]> = {
  takeback: ['budget', 'clock', 'errors', 'observe'],
  config: ['declare', 'takeback'],
  work: ['account', 'config', 'declare', 'journal', 'plan', 'takeback'],
  code: ['account', 'config', 'takeback'],
  openapi: ['code', 'config', 'journal', 'observe', 'store', 'takeback'],
  mcp: ['account', 'code', 'config', 'journal', 'store', 'takeback'],
  serve: ['account', 'code', 'config', 'declare', 'journal', 'openapi', 'store', 'takeback'],
}

/** The rooms of `plan/`, from the bottom up: each imports only from those before it. `compile.ts` is above them. */
const rooms = ['tables', 'viewer', 'condition', 'past', 'read', 'write', 'view', 'remove', 'compile.ts']

const isAbove = (one: string, other: string) => parts.indexOf(one) > parts.indexOf(other)

/** `serve/mcp/` is a separate part, above `serve/http/`. */
const partOf = (file: string) =>
  file.startsWith('serve/mcp/') ? 'mcp' : (file.split('/')[0]?.replace(/\.ts$/, '') ?? '')

function importsOf(file: string, folder = src): string[] {
  const text = readFileSync(join(folder, file), 'utf8')
  const paths = [...text.matchAll(/(?:from|import) ?\(?'(\.[^']+)'/g)].map(([, path]) => path ?? '')
  return paths.map((path) => relative(folder, join(folder, dirname(file), path)))
}

function circlesAmong(files: readonly string[], folder: string): string[] {
  const graph = new Map(
    files.map((file) => [file, importsOf(file, folder).filter((target) => files.includes(target))]),
  )
  const circles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    else for (const target of graph.get(file) ?? []) if (!seen.has(target)) visit(target, [...path, file])
    seen.add(file)
  }
  const seen = new Set<string>()
  for (const file of files) visit(file, [])
  return circles
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
  const root = join(src, '..')
  // Excluded: a form has fields, and a field may contain a form.
  const others = [
    ...new Glob('{bench,client,console,tanstack-db,testing}/**/*.{ts,tsx}').scanSync(root),
  ].filter((file) => !file.startsWith('console/form/'))
  expect(others.length).toBeGreaterThan(50)
  expect([...circlesAmong(files, src), ...circlesAmong(others, root)]).toEqual([])
})

/** Files that a server loads only when needed, so that it starts sooner. */
const later =
  /^(openapi|store\/(backup|check|copy)|cli\/(?!main|run\.|commands|arguments|serve|options|welcome))/
const laterFiles = ['store/postgres/store.ts', 'store/sqlite/store.ts', 'serve/mcp/answer.ts']

test('a start loads only what it needs', () => {
  const transpiler = new Transpiler({ loader: 'ts' })
  const loaded = new Set(['cli/main.ts', 'cli/serve.ts'])
  const packages = new Set<string>()
  for (const file of loaded)
    for (const { path, kind } of transpiler.scanImports(readFileSync(join(src, file), 'utf8'))) {
      if (kind !== 'import-statement' || path.endsWith('.json')) continue
      if (path.startsWith('.')) loaded.add(join(dirname(file), path))
      else if (!/^(node|bun)(:|$)/.test(path)) packages.add(path)
    }
  expect(loaded.size).toBeGreaterThan(100)
  expect([...loaded].filter((file) => later.test(file) || laterFiles.includes(file))).toEqual([])
  expect([...packages]).toEqual([])
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

/** Timers outside of `work/`, and why. None of them is background work, which belongs into `work/`. */
const timers: Readonly<Record<string, string>> = {
  'account/lanes.ts': 'the deadline of a hash',
  'account/throttle.ts': 'attempts that are under way',
  'api/perform.ts': 'a pause that an operation asks for',
  'api/limits/rate-limits.ts': 'each process tells the others what it has counted in its own memory',
  'app.ts': 'the end of a server',
  'cli/dev.ts': 'changes that an editor makes together; the end of a server',
  'cli/jobs.ts': 'a command waits for the job that it has started',
  'cli/serve.ts': 'the end of a process',
  'journal/feed.ts': 'transactions that are under way',
  'in-time.ts': 'the patience with something that takes long: a stream, or work that has to stop',
  'observe/log-output.ts': 'a reader of the log that is slow',
  'observe/log.ts': 'lines that are written together',
  'openapi/page-script.ts': 'in the browser',
  'serve/http/server.ts': 'requests that are under way, at the start and at the end',
  'store/postgres/hosts.ts': 'the deadline of an address',
  'store/postgres/server-monitor.ts': 'connections of this process that hang',
  'store/postgres/notifications.ts': 'commits that share one notification',
  'store/postgres/pool.ts': 'answers to this process that are late',
  'store/postgres/pooled-connection.ts': 'the deadline of an answer',
  'store/postgres/store.ts':
    'tries of a transaction; each process looks whether the data have moved on without it, and whether statistics are stale, which only reads unless they are',
  'store/postgres/structure.ts': 'tries of a migration',
  'store/sqlite/busy-retry.ts': 'locks of other processes',
  'store/sqlite/probe.ts': 'the deadline of a file system',
  'store/sqlite/queue.ts': 'locks of other processes',
  'store/sqlite/readers.ts': 'deadlines and idle readers, which are processes of this one',
  'store/sqlite/store.ts': 'readers of this process, before the log is emptied',
}

test('timers outside of work/ are listed, with their reasons', () => {
  const waiting = files
    .filter((file) => partOf(file) !== 'work')
    .filter((file) => /setInterval\(|setTimeout\(|Bun\.sleep\(/.test(readFileSync(join(src, file), 'utf8')))
  expect(waiting.sort()).toEqual(Object.keys(timers).sort())
})
