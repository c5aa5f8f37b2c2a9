import { OPERATIONS } from '../api/description.ts'
import { catalogue } from '../errors.ts'
import { code, figure, html, jsonCode, type Section, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpointList } from './page-calls.ts'

const CALLS = [
  [code('GET …/7/history/'), 'Every change: who, when, old and new values'],
  [code('GET …/7/?at=<time>'), 'The Entity as it was then; works for lists too'],
  [code('POST …/7/revert/'), html`Writes the values of an old <code>version</code> as a new version`],
  [code('POST …/7/undo/'), 'Takes back the last change to the Entity; repeat to go further back'],
  [code('POST …/7/redo/'), 'Makes the last undone change again'],
]

/** The section about history, reads as of a time, revert and undo. */
export function pastSection(first: string, operations: readonly Operation[]): Section {
  return {
    id: 'past',
    title: 'Take anything back',
    body: html`${table('The past of an Entity', ['Call', 'Meaning'], CALLS)}
<p>Every write is an operation. The answer has its id in the header <code>Takeback-Operation</code>. Undo takes back a
whole operation, of any kind, as a new operation. Undo that one to redo the first.</p>
${figure(
  html`<span class="method post">POST</span> Preview: undo everything that a user did since a time`,
  curl('/api/operations/undo/?dry_run=1', {
    token: true,
    body: { actor: `${first}/1`, since: '2026-06-02T14:00:00Z' },
  }),
)}${figure(
  '409 Conflict',
  jsonCode({
    message: catalogue.cannot_undo.message,
    errors: { [`${first}/7`]: [`name was changed since, by ${first}/2 at 2026-06-02T15:00:00.000Z`] },
    code: 'cannot_undo',
  }),
)}<ul>
<li>If somebody has changed a value since, that is a conflict: nothing is written, and the answer names every such value
and everyone who changed it. <code>skip_conflicts=1</code> takes back the rest.</li>
<li><code>dry_run=1</code> shows the changes and the conflicts, and writes nothing. Send the <code>plan</code> from its
answer to do exactly that.</li>
<li><code>with=dependents</code> also deletes Entities that refer to a deleted one; <code>with=targets</code> also restores
deleted Entities that a restored one refers to.</li>
<li>You may undo your own operations, as far as the rules allow those changes. Admins may undo any operation. If you may
restore something, you may undo its deletion.</li>
<li>Purged data cannot be restored. Secrets can, but they are never shown, and passwords only by admins.</li>
</ul>
<h3>Endpoints</h3>
${endpointList(operations.filter(({ tag }) => tag === OPERATIONS))}
`,
  }
}
