import type { CodePiece } from '../api/context.ts'
import type { Part } from '../api/part.ts'
import { runHook } from './hooks.ts'

/** The user's own code: hooks, routes, jobs, reactions. */
export const codePart = {
  name: 'code',
  compile: (): CodePiece => ({ runHook }),
} satisfies Part
