import { SESSION_SECONDS, TOKEN_SECONDS } from '../account/tokens.ts'
import { SERVICE, SESSIONS } from '../api/description.ts'
import { budget } from '../budget.ts'
import type { Model } from '../declare/model.ts'
import { catalogue } from '../errors.ts'
import type { Section } from './html.ts'
import { type Content, code, figure, html, joinHtml, jsonCode, nameCode, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpointList } from './page-calls.ts'
import { failureExample } from './responses.ts'

export function requestsSection(operations: readonly Operation[], base: string): Section {
  return {
    id: 'requests',
    title: 'Requests and answers',
    body: html`<p>Every path starts with <code>/api/</code> and works with and without its last <code>/</code>. The examples
take the address of the server from a variable:</p>
${figure('Shell', html`BASE=${base}`)}
<ul>
<li>Every request needs the header <code>Accept: application/json</code>.</li>
<li>Send a body as JSON with <code>Content-Type: application/json</code>, at most 1 MiB.</li>
<li>Unknown keys in a body and unknown parameters in a URL are refused, never ignored.</li>
<li>Values are never converted: <code>"3"</code> is not an integer.</li>
<li>A reference is <code>{"id": 5}</code> in requests and answers.</li>
<li>Times are returned in UTC with milliseconds: <code>2026-12-31T18:00:00.000Z</code>.</li>
</ul>
<h3>When something is wrong</h3>
<p>Every failure has the same shape. <code>code</code> is for programs and never changes; the rest is for people.
<code>errors</code> lists everything that is wrong, by dot path. A wrong reference is listed twice: under its own path and
under the path of its id.</p>
${figure('422 Unprocessable Content', jsonCode(failureExample('invalid_data')))}
<p>All codes are <a href="#errors">listed at the end</a>.</p>
<h3>The service itself</h3>
${endpointList(operations.filter(({ tag }) => tag === SERVICE))}
`,
  }
}

export function sessionsSection(
  model: Model,
  operations: readonly Operation[],
  queryToken: boolean,
): Section {
  const userTypes = model.logins.map(({ login }) => code(login?.userType ?? ''))
  const credentials = { email: 'ada@example.com', password: 'correct horse battery staple' }
  return {
    id: 'login',
    title: 'Log in',
    body: html`<p>A login returns a token. It is valid for ${TOKEN_SECONDS / 3600} hours. It stops working at once when its user logs
out, changes the password or is deleted, or when it is refreshed. A session ends ${SESSION_SECONDS / 86_400} days after its login.</p>
<div class="pair">
${figure(
  html`<span class="method post">POST</span> Log in`,
  curl('/api/auth/login', { token: false, body: credentials }),
)}${figure(
  '200 OK',
  jsonCode({
    token: 'eyJhbGciOiJIUzI1NiJ9…',
    user: { id: 1, email: credentials.email, user_type: model.logins[0]?.login?.userType ?? 'user' },
    expires_at: '2026-06-02T09:30:00.000Z',
  }),
)}</div>
<p>Set <code>TOKEN=…</code> for the examples below. Send the token in the header
<code>Authorization: Bearer $TOKEN</code>${queryToken ? html` or, if you cannot set a header, as the parameter <code>?token=</code>` : ''}. A bad
token is refused with 401, even by calls that need no token.</p>
${
  userTypes.length > 1
    ? html`<p>Several types can log in. <code>user_type</code> chooses one: ${joinHtml(userTypes, ', ')}. Without it, all are
tried.</p>
`
    : ''
}<p>A wrong e-mail and a wrong password get the same answer, 422. After too many failures even the right password gets 429;
<code>Retry-After</code> says how many seconds to wait.</p>
<h3>Endpoints</h3>
${endpointList(operations.filter(({ tag }) => tag === SESSIONS))}
`,
  }
}

export function listsSection(model: Model): Section {
  const reference = model.edges.find(({ list }) => list === undefined)
  const [first = ''] = model.entities.keys()
  const name = reference?.from ?? first
  return {
    id: 'lists',
    title: 'Lists',
    body: html`<p>A list returns one page. <code>next</code> is the cursor of the next page, and <code>null</code> on the last
page.</p>
${figure(
  html`<span class="method get">GET</span> The newest two`,
  curl(`/api/${name}/?sort=-id&limit=2&fields=id,version`, { token: true }),
)}${figure(
  '200 OK',
  jsonCode({
    data: [
      { id: 9, version: 1 },
      { id: 7, version: 4 },
    ],
    next: 'Ym9va2luZ3MtaWQgWzdd',
  }),
)}${table('Parameters of lists', ['Parameter', 'Meaning'], listParameters(reference?.column))}
`,
  }
}

function listParameters(column: string | undefined): Content[][] {
  const example = column === undefined ? '' : html`, or for a reference ${code(`?${column}=5`)}`
  return [
    ...LIST_PARAMETERS,
    [
      'any dot path',
      html`Only Entities with this value: <code>?version=1</code>${example}. <code>null</code> finds empty values, except
for texts.`,
    ],
  ]
}

const LIST_PARAMETERS: readonly Content[][] = [
  [
    code('filter'),
    html`A CEL expression over dot paths, also through references: <code>version > 1 && created_at > now -
duration("24h")</code>. It may use <code>== != < <= > >= in && || !</code>, <code>null</code>, <code>has()</code>,
<code>size()</code>, <code>startsWith</code>, <code>endsWith</code>, <code>contains</code>, <code>matches</code>, and for
lists <code>exists</code> and <code>all</code>. A comparison with a missing value is neither true nor false.`,
  ],
  [code('limit'), html`Page size: ${budget.pageDefault} by default, at most ${budget.pageEntities}.`],
  [
    code('cursor'),
    html`The <code>next</code> of the previous page. It stays valid while Entities are added and removed.`,
  ],
  [
    code('sort'),
    html`Dot paths separated by commas, also through references; <code>-</code> for descending:
<code>-created_at,id</code>.`,
  ],
  [
    code('search'),
    html`Words to find, if the type has searched fields. Each word must be in one of them; the last may be the beginning
of a word. Best match first, unless there is a <code>sort</code>.`,
  ],
  [code('count'), html`<code>1</code> adds <code>total</code>, the number on all pages.`],
  [code('fields'), html`Returns only these dot paths: <code>id,version</code>.`],
  [
    code('expand'),
    html`References to replace by the Entities they point to, nested with dots. Also for reading one Entity. A path may
have options in parentheses, separated by <code>;</code>: <code>fields</code> and <code>expand</code>, and for lists of
Entities <code>filter</code>, <code>sort</code> and <code>limit</code>, as in
<code>tasks(filter=status == "open";sort=-due;limit=5),project(fields=name)</code>.`,
  ],
  [
    code('trashed'),
    html`<code>only</code> deleted Entities, or <code>with</code> them. Needs the right to restore.`,
  ],
  [code('at'), html`A time. Returns the data as it was then. Needs access to the history.`],
]

export function changesSection(): Section {
  return {
    id: 'changes',
    title: 'Changes',
    body: html`<p><code>PATCH</code> merges the keys that are sent (RFC 7396): absent keys stay as they are, and
<code>null</code> removes a value. <code>PUT</code> replaces: absent keys become their default or <code>null</code>; only
secrets stay.</p>
<p>Every Entity has a <code>version</code>, which goes up by one with every change. An <code>ETag</code> is the version and
a hash of the answer, so it changes whenever the answer does.</p>
<ul>
<li><code>{"stock": {"$add": -1}}</code> in a <code>PATCH</code> changes a number relative to its value at the time of the write;
<code>{"labels": {"$add": […], "$remove": […]}}</code> does the same for a list.</li>
<li><code>If-Match: "3"</code> on <code>PATCH</code>, <code>PUT</code> and <code>DELETE</code>: the write is made only if the
Entity is still at version 3; otherwise the answer is 412. Without <code>If-Match</code>, the last write wins.</li>
<li><code>If-None-Match</code> with an <code>ETag</code> on <code>GET</code>: the answer is 304, without a body, if nothing
changed.</li>
<li>Every write answers with <code>Takeback-Operation</code>, the id of the operation in the journal.</li>
</ul>
<p>Send a list instead of one new Entity to create several, all or none. The answer is <code>{"data": […]}</code>, in the
same order. <code>POST /api/batch/</code> makes many writes of any kind as one operation: a list of <code>{"method", "path",
"body"}</code>. In it, <code>"$0.id"</code> means the <code>id</code> from the answer of the first part.</p>
<p><code>PATCH</code> and <code>DELETE</code> of <code>/api/…/?filter=</code> change or delete everything that matches, as one
operation. <code>PUT</code> to <code>/api/…/?match=</code> replaces the Entity with a unique value, or creates it.</p>
<p>To retry a write safely, send an <code>Idempotency-Key</code>. For 24 hours, the same request with the same key is not run
again: it gets the first answer again, with <code>Idempotent-Replay: true</code>.</p>
<p><code>Takeback-Run</code> marks a write as part of a run, <code>Takeback-Reason</code> gives its reason. Operations and
histories show both.</p>
`,
  }
}

export function removalSection(): Section {
  const rows = [
    [code('DELETE …/7/'), 'Deletes', html`200 and the Entity, with <code>deleted_at</code>`],
    [code('DELETE …/7/?restore=1'), 'Restores', '200 and the Entity, live again'],
    [code('DELETE …/7/?purge=1'), 'Erases a deleted Entity for good', '204'],
  ]
  return {
    id: 'removal',
    title: 'Delete, restore, purge',
    body: html`${table('Delete, restore and purge', ['Call', 'Meaning', 'Answer'], rows)}
<p>A delete is one operation. It also deletes everything that cascades from the Entity, at any depth, and clears references
declared with <code>clear</code>. If a reference declared with <code>restrict</code> still points to it, nothing happens: the answer is 409 and names the
Entities that refer to it.</p>
<p>A restore takes back exactly that operation. Entities that were deleted before it, or on their own after it, stay deleted.
Cleared references are set again if they are still empty.</p>
<ul>
<li>A deleted Entity is not found and not listed. Its unique values are free for others; if one has been taken, the restore
is refused with 422.</li>
<li>An Entity that refers to a deleted one cannot be restored before it: 409.</li>
<li>Repeating a delete or a restore answers 200 again and changes nothing.</li>
<li>A purge erases everything that the delete included, also from the journal. It cannot be undone.</li>
</ul>
`,
  }
}

export function errorsSection(): Section {
  const rows = Object.entries(catalogue).map(([name, { status, message }]) => [
    nameCode(name),
    String(status),
    message,
  ])
  return {
    id: 'errors',
    title: 'All errors',
    body: html`<p>Failures with status 500 and above also have a <code>request_id</code>. The server log has the cause under
this id.</p>
${table('Errors', ['Code', 'Status', 'Message'], rows)}
`,
  }
}
