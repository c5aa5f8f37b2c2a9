import type { CodePiece, Context } from '../api/context.ts'
import type { Part } from '../api/part.ts'
import { runHook } from './hooks.ts'
import { jobsOf } from './jobs.ts'
import { reactionQueue } from './reaction-queue.ts'
import { dropFormerCursors, reactionFollowers } from './reactions.ts'

function hasReactions({ model }: Context): boolean {
  return model.code.reactions.length > 0
}

/** The user's own code: hooks, routes, jobs, reactions. */
export const codePart = {
  name: 'code',
  compile: (): CodePiece => ({ runHook }),
  recurring: (context: Context) => jobsOf(context),
  queues: (context: Context) => (hasReactions(context) ? [reactionQueue(context)] : []),
  followers: (context: Context) => reactionFollowers(context),
  prepare: (context: Context) => dropFormerCursors(context),
} satisfies Part
