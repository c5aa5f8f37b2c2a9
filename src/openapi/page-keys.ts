import { KEYS } from '../api/description.ts'
import { figure, html, type Section } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpointList } from './page-calls.ts'

/** The section about keys for programs. */
export function keysSection(first: string, operations: readonly Operation[]): Section {
  return {
    id: 'keys',
    title: 'Keys for programs',
    body: html`<p>A key lets a program work in your name. Send it in place of a token. The journal names it, as
<code>keys/7</code>, so everything that the program did can be found and taken back.</p>
${figure(
  html`<span class="method post">POST</span> Make a key that reads and changes one type`,
  curl('/api/auth/keys/', {
    token: true,
    body: {
      name: 'Nightly import',
      can: { entities: { [first]: ['read', 'update'] } },
      limits: { changes_per_hour: 1000 },
    },
  }),
)}<ul>
<li>Both your rules and <code>can</code> apply. A type that <code>can.entities</code> does not name is closed to the key.</li>
<li><code>limits</code> count changes, not calls. A request that would exceed one is 429 <code>over_budget</code>, and nothing
is written.</li>
<li>With <code>agent: true</code>, every write first answers with everything that it would do, and a <code>plan</code>. Send the
same request with <code>?plan=…</code> to do it. Such a key does nothing that cannot be taken back.</li>
<li>A key never changes how somebody logs in, and makes no keys.</li>
</ul>
<h3>Endpoints</h3>
${endpointList(operations.filter(({ tag }) => tag === KEYS))}
`,
  }
}
