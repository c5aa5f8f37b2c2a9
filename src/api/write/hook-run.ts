import type { HookName } from '../../declare/code.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Caller } from '../../plan/viewer/actor.ts'

/** For whom hooks run, and until when: all hooks of a request share one deadline. */
export interface HookAsking {
  readonly caller: Caller
  readonly until: AbortSignal
  readonly depth: number
}

/** One run of a hook. */
export interface HookRun extends HookAsking {
  readonly plan: Plan
  readonly hook: HookName
  /** A body, or the Entity that is to be deleted. */
  readonly given: object
  /** The Entity as it is, before an update. */
  readonly before?: object
}
