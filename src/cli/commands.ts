import type { Command } from './arguments.ts'
import { copy } from './copy.ts'
import { init } from './init.ts'
import { migrate } from './migrate.ts'
import { history, undo } from './past.ts'
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
  userAdd,
  userUnlock,
  history,
  undo,
  trashList,
  trashPurge,
  vacuum,
]
