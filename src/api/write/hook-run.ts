import type { HookName } from '../../declare/code.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Caller } from '../../plan/viewer/actor.ts'

/** The caller for whom hooks run, and the deadline that all hooks of a request share. */
export interface HookCaller {
  readonly caller: Caller
  readonly until: AbortSignal
  readonly depth: number
  /** Whether bodies may refer to Entities that earlier parts of a batch create. */
  readonly isBatch?: boolean
}

/** One run of a hook. */
export interface HookRun extends HookCaller {
  readonly plan: Plan
  readonly hook: HookName
  /** A body, or the Entity that is to be deleted. */
  readonly given: object
  /** The present Entity, before an update. */
  readonly before?: object
}
