import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'

const src = join(import.meta.dir, '..', 'src')

/** The files that may read the wall clock, and why. `src/clock.ts` says which clock to use for what. */
const allowed: Readonly<Record<string, string>> = {
  'account/challenges.ts': 'held against its limit by hasPassed',
  'account/temporary.ts': 'a time that people are told; held against its limit by hasPassed',
  'account/tokens.ts': 'the times of tokens',
  'account/totp.ts': 'held against the clocks of phones',
  'api/context.ts': '`now` in rules',
  'api/health.ts': 'shown to admins',
  'api/account/identify.ts': 'the times of tokens',
  'api/account/mail-queue.ts': 'names of files',
  'api/query.ts': 'the oldest time that can be asked about',
  'api/past/retention.ts': 'times of Entities; guarded against jumps',
  'cli/backup-schedule.ts': 'names of backups',
  'cli/backup.ts': 'names of backups',
  'api/system/jobs.ts': 'shown to people: when a job runs next',
  'cli/past.ts': 'times that people type',
  'cli/retention.ts': 'asks people whether the clock is right',
  'cli/trash.ts': 'times that people type',
  'clock.ts': 'hasPassed',
  'journal/feed.ts': 'shown to people: how far a reader is behind',
  'live/event-reader.ts': '`now` in rules',
  'observe/log.ts': 'the log',
  'observe/request-figures.ts': 'shown to people: when requests came',
  'store/backup/keep.ts': 'held against the times of files',
  'store/backup/make.ts': 'shown to people',
  'store/migration/steps.ts': 'the journal',
  'store/slow-statements.ts': 'shown to people: when a statement was slow',
  'store/service-time.ts': 'where service time begins',
  'store/sqlite/journal-time.ts': 'the journal',
  'store/sqlite/statements.ts': 'the clock of the database',
  'webhooks/signature.ts': 'receivers hold it against their own clock',
}

test('nobody else asks the wall clock', () => {
  const asking = [...new Glob('**/*.ts').scanSync(src)]
    .filter((file) => !file.endsWith('.test.ts'))
    .filter((file) => /Date\.now\(\)|new Date\(\)/.test(readFileSync(join(src, file), 'utf8')))
  expect(asking.sort()).toEqual(Object.keys(allowed).sort())
})
