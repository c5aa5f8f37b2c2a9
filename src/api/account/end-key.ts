import { addError, type Errors, invalid } from '../../errors.ts'
import { type Act, write } from '../../store/act.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { refTo } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { runOnce } from '../idempotency.ts'
import {
  matchingOperations,
  parseUndo,
  runUndo,
  type UNDO_PARAMETERS,
  undoing,
  undone,
} from '../past/undo.ts'
import { parseFlag, parseTime } from '../query.ts'
import { keyFor, ofKeys, sampleKey, shownKey } from './keys.ts'

type EndCall = Call<'undo' | 'since' | (typeof UNDO_PARAMETERS)[number]>

/**
 * `DELETE /api/auth/keys/<id>/`: ends the key. With `undo=1` it also takes back what the key has done, in the same
 * transaction. A second call can still take that back, and changes nothing else.
 */
async function endKey(context: Context, call: EndCall): Promise<Answer> {
  const since = parseEnding(call)
  const { id } = await keyFor(context, call.caller.actor, call.id)
  if (since === undefined) return runOnce(context, call, () => endOnly(context, call, id))
  const options = parseUndo(call, call.query, [])
  const answer = await runUndo(context, call, options, {
    whole: true,
    *which(): Act<{ operations: readonly string[]; foreign: boolean }> {
      yield* write([context.keys.end], { $key: id })
      return yield* matchingOperations(context, { actor: { via: `keys/${id}` }, since: since.time })
    },
  })
  context.identities.forget()
  return answer
}

async function endOnly(context: Context, call: EndCall, id: number): Promise<Answer> {
  await context.store.write([context.keys.end], { $key: id }, call.signal)
  context.identities.forget()
  return { status: 200, body: JSON.stringify(shownKey(await keyFor(context, call.caller.actor, call.id))) }
}

/** The time since which the key's work is taken back; undefined if it is not taken back. */
function parseEnding({ query }: EndCall): { readonly time: string | undefined } | undefined {
  const errors: Errors = new Map()
  const { undo, since } = query.take(errors)
  const undoes = parseFlag('undo', undo, errors)
  const time = parseTime('since', since, errors)
  const others = query.names.filter((name) => name !== 'undo' && query.asks(name))
  if (!undoes) for (const name of others) addError(errors, name, 'needs undo=1')
  if (errors.size > 0) throw invalid(errors)
  return undoes ? { time } : undefined
}

export const endMyKey = serverEndpoint({
  ...ofKeys,
  name: 'endKey',
  method: 'DELETE',
  path: '/api/auth/keys/{id}/',
  parameters: ['key', 'undo', 'since', ...undoing],
  describe: () => ({
    summary: 'End a key',
    description:
      'It stops working at once, for good. With `undo=1`, what it has done is taken back as well, since a time if there is one: one operation, which can itself be undone. If there are conflicts, nothing happens; `skip_conflicts=1` takes back the rest.',
    answers: [
      {
        ...undone,
        description: 'The key, which has ended. With `undo=1`: what was taken back, or would be.',
        schema: { anyOf: [refTo('Key'), refTo('Undone')] },
        example: { ...sampleKey, ended_at: '2026-06-02T17:00:00.000Z' },
      },
    ],
    codes: [
      'unauthenticated',
      'forbidden',
      'not_found',
      'cannot_undo',
      'last_admin',
      'busy',
      'plan_changed',
      'disk_full',
    ],
  }),
  run(context, call) {
    call.waitLong()
    return endKey(context, call)
  },
})
