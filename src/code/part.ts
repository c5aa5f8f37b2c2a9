import type { CodePiece, Context } from '../api/context.ts'
import type { Part } from '../api/part.ts'
import { runHook } from './hooks.ts'
import { jobsOf } from './jobs.ts'

/** The user's own code: hooks, routes, jobs, reactions. */
export const codePart = {
  name: 'code',
  compile: (): CodePiece => ({ runHook }),
  recurring: (context: Context) => jobsOf(context),
} satisfies Part
