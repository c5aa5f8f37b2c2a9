import { availableParallelism } from 'node:os'
import { startCluster } from './cluster.ts'
import { settings } from './postgres.ts'

/* `npm test`: all test files in processes side by side, which share one PostgreSQL. Arguments go on to `bun test`. */

const cluster = await startCluster('TAKEBACK_TEST_POSTGRES', settings).catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})

// Ctrl-C ends the tests themselves; PostgreSQL goes after them.
process.on('SIGINT', () => {})

const tests = Bun.spawn(
  [
    process.execPath,
    'test',
    '--timeout=60000',
    // Tests often wait for a process or a socket, so one more than there are cores keeps all of them busy.
    `--parallel=${availableParallelism() + 1}`,
    '--no-isolate',
    ...process.argv.slice(2),
  ],
  {
    env: { ...process.env, TAKEBACK_TEST_POSTGRES: cluster.url },
    stdio: ['inherit', 'inherit', 'inherit'],
  },
)
process.exitCode = await tests.exited
await cluster.stop()
