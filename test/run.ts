import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findBundle } from '../bin/find-bundle.js'
import { memoryFolder } from './memory.ts'
import { endPostgres, makeTemplate, startPostgres } from './postgres.ts'

/*
 * `npm test` (`--all`): types, lint, and all test files in parallel processes, which share one PostgreSQL. `npm run
 * test:fast`: units and SQLite, without processes, browsers and giants. `npm run test:deep`: more random cases, larger
 * giants. Other arguments are passed to `bun test`.
 */

const given = process.argv.slice(2)
const isFast = given.includes('--fast')
const isDeep = given.includes('--deep')
const ours = ['--all', '--fast', '--deep']

/** Processes, browsers, and files that take seconds as a whole: they try every combination, or ask a second opinion. */
const NOT_FAST = [
  'test/{process,console}/**',
  'test/api/{account-events,cel-differential,oracle,rename-back,renamed-work,slow-reads}.test.ts',
  'test/client/tanstack-*.test.ts',
  'test/cel-linear.test.ts',
]

// In parallel with the tests, which often wait for a process or a socket. Findings are shown at once.
const checks = given.includes('--all') ? ['types', 'lint'].map(runScript) : []

/** Code in tests is seldom hot. Optimising it as early as in a server would cost a tenth of the processor time. */
const RARELY_OPTIMISED = {
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '10000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '10000',
}

// Temporary files of tests are in this folder, and are removed with it. Other users must be able to enter it.
const folder = mkdtempSync(join(tmpdir(), 'takeback-run-'))
chmodSync(folder, 0o755)
process.env.TMPDIR = folder

const shared = isFast ? {} : await prepare()

// Databases of servers in the process of the tests. Servers in other processes have theirs on the disk.
const databases = mkdtempSync(join(memoryFolder(), 'takeback-run-'))

// Ctrl-C ends the tests themselves; PostgreSQL ends after them.
process.on('SIGINT', () => {})

const tests = Bun.spawn(
  [
    process.execPath,
    'test',
    // A hundred times what most tests need: for a test that hangs, not for a busy machine.
    '--timeout=300000',
    // Some files mostly wait, so four more processes than cores keep all cores busy.
    `--parallel=${availableParallelism() + 4}`,
    '--no-isolate',
    // The slowest files start first, so that none is left at the end. `--update-timings` measures again.
    `--timings=${join(import.meta.dir, 'timings.json')}`,
    ...(isFast ? NOT_FAST.map((pattern) => `--path-ignore-patterns=${pattern}`) : []),
    ...given.filter((one) => !ours.includes(one)),
  ],
  {
    env: {
      ...RARELY_OPTIMISED,
      ...process.env,
      ...shared,
      TAKEBACK_TEST_FOLDER: folder,
      TAKEBACK_TEST_DATABASES: databases,
      ...(isDeep && { TAKEBACK_TEST_DEEP: '1' }),
      ...(isFast && { TAKEBACK_TEST_FAST: '1' }),
    },
    stdio: ['inherit', 'inherit', 'inherit'],
  },
)
process.exitCode = await tests.exited
for (const { name, code } of await Promise.all(checks)) {
  if (code === 0) continue
  console.error(`npm run ${name} has failed: what it says is above.`)
  process.exitCode = 1
}
await endPostgres()
for (const made of [folder, databases]) rmSync(made, { recursive: true, force: true })
if (isFast)
  console.log(
    `Left out: PostgreSQL, ${NOT_FAST.join(', ')}, and what says "skip". "npm test" runs all of it.`,
  )

/** Runs a script of the package. If it fails, prints all of its output in one piece. */
async function runScript(name: string): Promise<{ readonly name: string; readonly code: number }> {
  const child = Bun.spawn(['npm', 'run', '--silent', name], {
    // TypeScript then collects garbage a quarter as often, and uses a gigabyte of memory.
    env: { ...process.env, GOGC: '400' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) console.error(`\nnpm run ${name}:\n${out}${err}`)
  return { name, code }
}

/** Prepares, in parallel, what the processes of the tests share. */
async function prepare(): Promise<Record<string, string>> {
  const [postgres, commandLine] = await Promise.all([
    preparePostgres(),
    bundleCommandLine(),
    unpackChromium(),
  ])
  return { ...postgres, TAKEBACK_TEST_COMMAND_LINE: commandLine }
}

/** Unpacks the browser for all tests. If several did so, one could start a file that another is still writing. */
async function unpackChromium(): Promise<void> {
  const { default: chromium } = await import('@sparticuz/chromium')
  await chromium.executablePath()
}

/** Without PostgreSQL, all tests that need it would fail, each with its own message. */
async function preparePostgres(): Promise<Record<string, string>> {
  try {
    const { url } = await startPostgres()
    return { TAKEBACK_TEST_POSTGRES: url, TAKEBACK_TEST_TEMPLATE: (await makeTemplate()).url }
  } catch (error) {
    console.error(`The tests need PostgreSQL: ${(error as Error).message}`)
    process.exit(1)
  }
}

/** Bundles the command line as it is published, in one file with bytecode: the tests start it hundreds of times. */
async function bundleCommandLine(): Promise<string> {
  const root = join(import.meta.dir, '..')
  // In its own folder: npm and Node would find files beside the tests' folders.
  const home = join(folder, 'command-line')
  const bundle = join(home, 'lib', 'bundle')
  const command = [process.execPath, join(root, 'build', 'bundle.js'), bundle]
  const installed = findBundle(root)
  // Uses the bundle of `npm install`, unless a source has changed since.
  if (installed !== undefined) cpSync(dirname(installed), bundle, { recursive: true })
  else if ((await Bun.spawn(command, { stdio: ['ignore', 'inherit', 'inherit'] }).exited) !== 0)
    process.exit(1)
  // The folders from which it loads other files.
  for (const name of ['node_modules', 'console', 'client', 'build'])
    symlinkSync(join(root, name), join(home, name))
  return join(bundle, 'bundle.js')
}
