import { budget } from '../../budget.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Act, after, read, write } from '../../store/act.ts'
import type { Context } from '../context.ts'

/**
 * Erases everything that a purge has marked, in bounded steps. Each step can be repeated, so an interrupted purge can
 * be continued by any server, even by two at once.
 */
export function* erase(context: Context, purge: string, plans: Iterable<Plan>): Act<number> {
  let erased = 0
  for (const plan of plans)
    for (;;) {
      const marked = yield* read(plan.erase.marked, { $purge: purge })
      if (marked.length === 0) break
      const chunk = chunkOf(marked.map(([id, version]) => ({ id: Number(id), version: Number(version) })))
      const $ids = JSON.stringify(chunk.ids)
      for (let version = 0; version < chunk.newest; version += chunk.versions)
        yield* write(plan.erase.blank, { $ids, $after: version, $upto: version + chunk.versions })
      yield* write(plan.erase.drop, { $ids, $purge: purge, $after: chunk.newest })
      erased += chunk.ids.length
    }
  yield* after(() => context.store.scrub())
  yield* write(context.purges.finish, { $purge: purge })
  return erased
}

interface Chunk {
  readonly ids: readonly number[]
  readonly newest: number
  /** How many versions of each Entity are blanked in one step. */
  readonly versions: number
}

/** Takes the first Entities, as many as have no more versions together than a step may blank; at least one. */
function chunkOf(marked: readonly { readonly id: number; readonly version: number }[]): Chunk {
  let newest = 1
  let taken = 0
  for (const { version } of marked) {
    if (taken > 0 && (taken + 1) * Math.max(newest, version) > budget.stepRows) break
    newest = Math.max(newest, version)
    taken++
  }
  const ids = marked.slice(0, taken).map(({ id }) => id)
  return { ids, newest, versions: Math.max(1, Math.floor(budget.stepRows / ids.length)) }
}
