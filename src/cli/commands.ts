import type { Command } from './arguments.ts'
import { backup } from './backup.ts'
import { checkCommand } from './check.ts'
import { copyCommand } from './copy.ts'
import { devCommand } from './dev.ts'
import { init } from './init.ts'
import { jobsList, jobsRun } from './jobs.ts'
import { mcpCommand } from './mcp.ts'
import { migrateCommand } from './migrate.ts'
import { historyCommand, undoCommand } from './past.ts'
import { reactionsList, reactionsRetry } from './reactions.ts'
import { restore } from './restore.ts'
import { retentionConfirm } from './retention.ts'
import { rulesTest } from './rules-test.ts'
import { serveCommand } from './serve.ts'
import { trashList, trashPurge } from './trash.ts'
import { typesCommand } from './types.ts'
import { userAdd } from './user.ts'
import { userUnlock } from './user-unlock.ts'
import { vacuum } from './vacuum.ts'
import { webhooksList, webhooksResend } from './webhooks.ts'

/** Every command, in the order in which the help shows them. */
export const commands: readonly Command[] = [
  serveCommand,
  devCommand,
  init,
  rulesTest,
  typesCommand,
  mcpCommand,
  migrateCommand,
  copyCommand,
  backup,
  restore,
  checkCommand,
  userAdd,
  userUnlock,
  historyCommand,
  undoCommand,
  trashList,
  trashPurge,
  jobsList,
  jobsRun,
  reactionsList,
  reactionsRetry,
  vacuum,
  retentionConfirm,
  webhooksList,
  webhooksResend,
]
