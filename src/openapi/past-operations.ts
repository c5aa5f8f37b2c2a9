import type { Code } from '../errors.ts'
import { refTo } from './compose.ts'
import type { Operation, Success } from './operation.ts'
import { share, writing } from './parameters.ts'

export const OPERATIONS = 'Operations'

const one = '01973a2e-7c40-7000-8000-5f1d2c3b4a59'
const head = { id: one, at: '2026-06-02T17:00:00.000Z', actor: 'users/3', changes: 4 }
/** The answer to every undo. */
export const undone: Success = {
  status: 200,
  description: 'What was taken back, or would be. `operation` is `null` where nothing was written.',
  headers: ['Takeback-Operation', 'Idempotent-Replay'],
  schema: refTo('Undone'),
  example: {
    operation: '01973a30-1b58-7000-8000-0a1b2c3d4e5f',
    undone: 1,
    total: 1,
    changes: [
      {
        entity: 'bookings',
        id: 7,
        kind: 'restore',
        changed: { deleted_at: { from: '2026-06-02T17:00:00.000Z', to: null } },
      },
    ],
    skipped: {},
  },
}
const refusals: readonly Code[] = ['unauthenticated', 'forbidden']

/** The calls that are about operations, whatever they touched. */
export function pastOperations(): Operation[] {
  const call = { tag: OPERATIONS, open: false, body: undefined } as const
  const undo = {
    ...call,
    method: 'POST',
    parameters: share('dry_run', 'skip_conflicts', 'with', 'plan', 'cursor', ...writing),
    answers: [undone],
    codes: [...refusals, 'cannot_undo', 'last_admin', 'busy', 'plan_changed', 'disk_full'] satisfies Code[],
  } as const
  return [
    {
      ...call,
      method: 'GET',
      path: '/api/operations/',
      id: 'listOperations',
      summary: 'What was done',
      description: 'Newest first. Admins see all operations, others their own.',
      parameters: share('actor', 'since', 'until', 'entity', 'run', 'limit', 'cursor'),
      answers: [
        {
          status: 200,
          description: 'A page of operations.',
          headers: [],
          schema: refTo('Operations'),
          example: { data: [{ ...head, summary: { bookings: { delete: 4 } } }], next: null },
        },
      ],
      codes: refusals,
    },
    {
      ...call,
      method: 'GET',
      path: '/api/operations/{id}/',
      id: 'readOperation',
      summary: 'One operation',
      description: 'With its changes, a page at a time.',
      parameters: share('operation', 'limit', 'cursor'),
      answers: [
        { status: 200, description: 'The operation.', headers: [], schema: refTo('OperationInFull') },
      ],
      codes: ['unauthenticated', 'not_found'],
    },
    {
      ...undo,
      path: '/api/operations/{id}/undo/',
      id: 'undoOperation',
      summary: 'Take an operation back',
      description:
        'Whatever it was, all of it, as a new operation that can be undone in its turn. A value goes back if it still is what the operation made it. Refused with everything that is in the way where it is not. The body may be left out; it takes the parameters too.',
      body: { schema: refTo('Undo'), example: { dry_run: true }, optional: true },
      parameters: [...share('operation'), ...undo.parameters],
      codes: [...undo.codes, 'not_found'],
    },
    {
      ...undo,
      path: '/api/operations/undo/',
      id: 'undoOperations',
      summary: 'Take many operations back',
      description:
        'All that match, as one operation: what several of them did to one Entity is undone to the state before all of them.',
      body: {
        schema: refTo('UndoMany'),
        example: { actor: 'users/3', since: '2026-06-02T14:00:00Z' },
      },
    },
  ]
}
