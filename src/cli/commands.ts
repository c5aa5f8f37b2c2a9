import type { Command } from './arguments.ts'
import { backup } from './backup.ts'
import { check } from './check.ts'
import { copy } from './copy.ts'
import { init } from './init.ts'
import { migrate } from './migrate.ts'
import { history, undo } from './past.ts'
import { restore } from './restore.ts'
import { retentionConfirm } from './retention.ts'
import { serve } from './serve.ts'
import { trashList, trashPurge } from './trash.ts'
import { userAdd } from './user.ts'
import { userUnlock } from './user-unlock.ts'
import { vacuum } from './vacuum.ts'

/** Every command, in the order in which the help shows them. */
export const commands: readonly Command[] = [
  serve,
  init,
  migrate,
  copy,
  backup,
  restore,
  check,
  userAdd,
  userUnlock,
  history,
  undo,
  trashList,
  trashPurge,
  vacuum,
  retentionConfirm,
]
