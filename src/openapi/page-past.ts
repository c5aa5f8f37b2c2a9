import { code, figure, html, jsonCode, type Section, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpoints } from './page-entity.ts'
import { OPERATIONS } from './past-operations.ts'

/** History, reads as of a time, revert and undo. */
export function pastSection(first: string, operations: readonly Operation[]): Section {
  const rows = [
    [code('GET …/7/history/'), 'Every change: who, when, what from what to what'],
    [code('GET …/7/?at=<time>'), 'As it stood then; on lists too'],
    [code('POST …/7/revert/'), html`Writes the values of a <code>version</code> as a new one`],
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
    errors: { [`${first}/7`]: [`was changed since, by ${first}/2: name`] },
    code: 'cannot_undo',
  }),
)}<ul>
<li>Where anything was changed since, nothing is written, and the answer names each Entity with what changed.
<code>skip_conflicts=1</code> takes back the rest.</li>
<li><code>dry_run=1</code> says what would change and what stands in the way, and writes nothing.</li>
<li>Everybody may undo what they did, as far as the rules let them make those changes; admins what anybody did.</li>
<li>What is purged cannot come back, and secrets are not written down, so they stay as they are.</li>
</ul>
<h3>Endpoints</h3>
${endpoints(operations.filter(({ tag }) => tag === OPERATIONS))}
`,
  }
}
