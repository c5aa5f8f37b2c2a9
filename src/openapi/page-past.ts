import { OPERATIONS } from '../api/description.ts'
import { code, figure, html, jsonCode, type Section, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpoints } from './page-calls.ts'

/** History, reads as of a time, revert and undo. */
export function pastSection(first: string, operations: readonly Operation[]): Section {
  const rows = [
    [code('GET …/7/history/'), 'Every change: who, when, what from what to what'],
    [code('GET …/7/?at=<time>'), 'As it stood then; on lists too'],
    [code('POST …/7/revert/'), html`Writes the values of a <code>version</code> as a new one`],
    [code('POST …/7/undo/'), 'Takes back the last change of the Entity, again and again'],
    [code('POST …/7/redo/'), 'Does again what was undone last'],
  ]
  return {
    id: 'past',
    title: 'Take anything back',
    body: html`${table('The past of an Entity', ['Call', 'Meaning'], rows)}
<p>Every write is an operation, and answers with its id as <code>Takeback-Operation</code>. Undo takes back all of an
operation, whatever it was, as a new operation; undoing that does it again.</p>
${figure(
  html`<span class="method post">POST</span> What would be taken back of all that a user did since a time`,
  curl('/api/operations/undo/?dry_run=1', {
    token: true,
    body: { actor: `${first}/1`, since: '2026-06-02T14:00:00Z' },
  }),
)}${figure(
  '409 Conflict',
  jsonCode({
    message: 'Something stands against taking that back.',
    errors: { [`${first}/7`]: [`name was changed since, by ${first}/2 at 2026-06-02T15:00:00.000Z`] },
    code: 'cannot_undo',
  }),
)}<ul>
<li>A value goes back if it still is what the operation made it. If somebody has changed it since, nothing is written,
and the answer names every such value with everyone who changed it. <code>skip_conflicts=1</code> takes back the rest.</li>
<li><code>dry_run=1</code> shows what would change and what is in the way, and writes nothing. With the <code>plan</code>
that it answers, exactly that is done.</li>
<li><code>with=dependents</code> also deletes what hangs from it; <code>with=targets</code> also restores what it refers to.</li>
<li>Everybody may undo what they did, as far as the rules let them make those changes; admins what anybody did. Whoever
may restore something may undo its deletion.</li>
<li>What is purged cannot come back. Secrets come back too, but are never shown; passwords only for admins.</li>
</ul>
<h3>Endpoints</h3>
${endpoints(operations.filter(({ tag }) => tag === OPERATIONS))}
`,
  }
}
