import type { Context } from '../api/context.ts'
import type { HookRun } from '../api/write/hook-run.ts'
import { budget } from '../budget.ts'
import { isRecord } from '../declare/record.ts'
import { type Caller, isAgent } from '../plan/viewer/actor.ts'
import { apiOf } from './api.ts'
import { guarded } from './guard.ts'
import { asSent } from './json.ts'
import { meOf } from './me.ts'

/** Runs the hook of a type, and returns the body to write. The hook may change its argument, or return another body. */
export async function runHook(context: Context, run: HookRun): Promise<object> {
  const { plan, hook, before, caller, until, depth } = run
  const name = `entities.${plan.type.name}.before.${hook}`
  const given = structuredClone(run.given)
  const code = plan.type.before
  return guarded({
    name,
    until,
    async run() {
      if (depth >= budget.codeDepth)
        throw new Error(`code calls itself more than ${budget.codeDepth} calls deep`)
      const me = await meOf(context, caller.actor)
      const readsOnly = isAgent(caller.actor)
      const acting = { caller: unscoped(caller), signal: until, depth: depth + 1, readsOnly }
      const api = apiOf(context, acting)
      const call = { me, api, signal: until, ...(before !== undefined && { before }) }
      const made: unknown = await code?.[hook]?.(given, call)
      const sent = asSent(made ?? given)
      if (!isRecord(sent)) throw new TypeError(`it must return an object or nothing, not ${typeof made}`)
      return sent
    },
  })
}

/** A hook is code of the app: it has all rights of the user, even if the calling key is for a few types only. */
function unscoped(caller: Caller): Caller {
  if (caller.actor.kind !== 'key') return caller
  const { scope: _, ...actor } = caller.actor
  return { ...caller, actor }
}
