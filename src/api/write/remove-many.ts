import { type Errors, Failure } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { UNMET } from '../../plan/past/amendment.ts'
import { manyParams } from '../../plan/remove/remove.ts'
import { reachOf } from '../../plan/tables/graph.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { LAST_ADMIN } from '../../plan/viewer/admins.ts'
import { type Act, after, write } from '../../store/act.ts'
import type { Row } from '../../store/dialect.ts'
import { type Context, operationOf } from '../context.ts'
import { hookCodes } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { beforeDelete, hasHook } from './hooks.ts'
import {
  changedMany,
  type DoneMany,
  MANY,
  MANY_CODES,
  type Matched,
  MovedMany,
  parseMany,
} from './matching.ts'
import { runMany } from './run-many.ts'

/** `DELETE /api/<entity>/?filter=…`: deletes all matching Entities, and what cascades from them, as one operation. */
function* removeMany(context: Context, plan: Plan, actor: Actor, found: readonly Matched[]): Act<DoneMany> {
  if (found.length === 0) return { operation: null }
  const { removals } = plan.view(actor)
  const params = { ...operationOf(actor), ...manyParams(found) }
  const outcome = yield* write(removals.deleteMany(), params)
  if (outcome.done) {
    if (removals.endsLogins) yield* after(() => context.identities.forget())
    return { operation: params.$operation }
  }
  if (outcome.step === LAST_ADMIN) throw new Failure('last_admin')
  if (outcome.step === 'held' || outcome.step === UNMET)
    throw heldMany(plan, actor, outcome.step, outcome.rows)
  throw new MovedMany()
}

function heldMany(plan: Plan, actor: Actor, step: string, rows: readonly Row[]): Failure {
  const errors: Errors = new Map()
  const { removals } = plan.view(actor)
  if (step === UNMET) removals.explainUnmet(rows, errors, 0)
  else removals.explainHeld(rows, errors, 'delete', 'them')
  return new Failure('in_use', { errors })
}

export const removeEntities = entityEndpoint({
  name: 'deleteMany',
  method: 'DELETE',
  path: '/api/{entity}/',
  parameters: MANY,
  plans: 'itself',
  rule: { all: ['read', 'delete'] },
  describe(about) {
    const { type, model } = about
    const { into, types } = reachOf(type, model)
    return {
      summary: `Delete all ${type.name} that match`,
      description: `Deletes all ${type.name} that match \`filter\` and that you see, with everything that cascades from them, as one operation: all of them or none. \`dry_run=1\` shows what would be deleted or cleared, with a \`plan\`. ${about.access('delete')}`,
      query: '?filter=version%20%3E%203&dry_run=1',
      answers: [changedMany],
      codes: [
        ...about.refusals('delete', true),
        ...hookCodes(about, 'delete'),
        ...(into.length > 0 ? (['in_use'] as const) : []),
        ...(types.some(({ name }) => name === model.admins) ? (['last_admin'] as const) : []),
        ...MANY_CODES,
      ],
    }
  },
  run(context, plan, call) {
    const { actor } = call.caller
    const request = parseMany(plan, 'delete', call)
    return runMany<void, readonly Matched[]>(context, plan, call, {
      request,
      action: 'delete',
      before: hasHook(plan, 'delete')
        ? (about, hookCaller) => beforeDelete(context, plan, hookCaller, about)
        : undefined,
      prepare: async (found) => found,
      act: (found) => removeMany(context, plan, actor, found),
    })
  },
})
