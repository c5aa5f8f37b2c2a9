import { type Errors, Failure, note } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Act } from '../store/act.ts'
import { type Answer, type Context, type Preconditions, TRIES } from './context.ts'
import type { HookAsking } from './hook-run.ts'
import { askingOf } from './hooks.ts'
import {
  type DoneMany,
  type ManyCall,
  type ManyRequest,
  type Matched,
  matchedBy,
  runMany,
} from './matching.ts'
import { replayOf } from './once.ts'
import { perform } from './perform.ts'

/** What hooks have made, by the id of the Entity, and the version that they ran for. */
export type HookedMany<T> = ReadonlyMap<number, { readonly version: number; readonly made: T }>

interface Hooking<T> {
  readonly request: ManyRequest
  readonly action: 'update' | 'delete'
  /** Runs the hook for one Entity. */
  before(about: { id: number; when: Preconditions }, asking: HookAsking): Promise<T>
  act(hooked: HookedMany<T>): Act<DoneMany>
}

/** Runs the hook for each Entity, then the write. If others have changed one of them meanwhile, the hooks run again. */
export async function runHooked<T>(
  context: Context,
  plan: Plan,
  call: ManyCall,
  { request, action, before, act }: Hooking<T>,
): Promise<Answer> {
  const known = await replayOf(context, call)
  if (known !== undefined) return known
  const asking = askingOf(call)
  for (let tries = 1; ; tries++)
    try {
      const found = await perform(context.store, matchedBy(plan, call.caller.actor, action, request.filter))
      const hooked = new Map<number, { version: number; made: T }>()
      for (const { id, version } of found) {
        const about = { id, when: { ifMatch: `|${version}|` } }
        hooked.set(id, {
          version,
          made: await namingEntity(`${plan.type.name}/${id}`, before(about, asking)),
        })
      }
      return await runMany(context, call, request, () => act(hooked))
    } catch (error) {
      const isMoved = error instanceof Failure && ['busy', 'stale', 'not_found'].includes(error.code)
      if (!isMoved) throw error
      if (tries >= TRIES) throw new Failure('busy')
    }
}

/** Names the Entity that a hook has refused. */
async function namingEntity<T>(entity: string, hooked: Promise<T>): Promise<T> {
  try {
    return await hooked
  } catch (error) {
    if (!(error instanceof Failure) || error.errors === undefined) throw error
    const errors: Errors = new Map()
    for (const [path, sentences] of error.errors)
      for (const one of sentences) note(errors, path, `${one} (${entity})`)
    throw new Failure(error.code, { errors, cause: error })
  }
}

/** Hooks must have run for exactly these. */
export function refuseUnhooked(found: readonly Matched[], hooked: HookedMany<unknown> | undefined): void {
  if (hooked === undefined) return
  const isSame = found.every(({ id, version }) => hooked.get(id)?.version === version)
  if (!isSame || found.length !== hooked.size) throw new Failure('busy')
}
