import { SESSION_SECONDS, TOKEN_SECONDS } from '../account/tokens.ts'
import { SERVICE, SESSIONS } from '../api/description.ts'
import { budget } from '../budget.ts'
import type { Model } from '../declare/model.ts'
import { catalogue } from '../errors.ts'
import type { Section } from './html.ts'
import { type Content, code, figure, html, join, jsonCode, nameCode, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpoints } from './page-calls.ts'
import { exampleOf } from './responses.ts'

export function requestsSection(operations: readonly Operation[], base: string): Section {
  return {
    id: 'requests',
    title: 'Requests and answers',
    body: html`<p>Every path starts with <code>/api/</code> at the address of this page, and works with and without its last
<code>/</code>. The examples below take that address from a variable:</p>
${figure('Shell', html`BASE=${base}`)}
<ul>
<li>Every request says <code>Accept: application/json</code>.</li>
<li>A body is a JSON object, sent as <code>Content-Type: application/json</code>, 1 MiB at most.</li>
<li>What is not known is refused, never ignored: a key in a body, a parameter in a URL.</li>
<li>Nothing is converted: <code>"3"</code> is not an integer.</li>
<li>A reference is <code>{"id": 5}</code>, in and out.</li>
<li>Times come back in UTC with milliseconds: <code>2026-12-31T18:00:00.000Z</code>.</li>
</ul>
<h3>When something is wrong</h3>
<p>Every failure has the same shape. <code>code</code> is for programs and stays as it is; the rest is for people.
<code>errors</code> has all that is wrong at once, by dot path. A reference that is wrong stands there twice, under its
own path and under that of its id.</p>
${figure('422 Unprocessable Content', jsonCode(exampleOf('invalid_data')))}
<p>All codes are <a href="#errors">listed at the end</a>.</p>
<h3>About the service itself</h3>
${endpoints(operations.filter(({ tag }) => tag === SERVICE))}
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
    body: html`<p>A login gives a token. It is good for ${TOKEN_SECONDS / 3600} hours, and dies at once when its user logs out,
changes the password or is deleted, and when it is refreshed. A session ends ${SESSION_SECONDS / 86_400} days after its login.</p>
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
<p>Keep it as <code>TOKEN=…</code> for the examples below. It is sent in the header
<code>Authorization: Bearer $TOKEN</code>${queryToken ? html`, or, where no header can be set, as the parameter <code>?token=</code>` : ''}. A bad
token is refused with 401 even where none is needed.</p>
${
  userTypes.length > 1
    ? html`<p>Several types can log in. <code>user_type</code> says which one is meant: ${join(userTypes, ', ')}. Left out, it
is found by itself.</p>
`
    : ''
}<p>A wrong e-mail and a wrong password are answered alike, with 422. After too many of them comes 429, for the right
password too; <code>Retry-After</code> says in how many seconds to try again.</p>
<h3>Endpoints</h3>
${endpoints(operations.filter(({ tag }) => tag === SESSIONS))}
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
    body: html`<p>A list comes a page at a time. <code>next</code> is the cursor of the page that follows, and
<code>null</code> on the last one.</p>
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
    [
      code('filter'),
      html`A condition in CEL over dot paths, through references too: <code>version > 1 && created_at > now -
duration("24h")</code>. There are <code>== != < <= > >= in && || !</code>, <code>null</code>, <code>has()</code>,
<code>size()</code>, <code>startsWith</code>, <code>endsWith</code>, <code>contains</code>, <code>matches</code>, and
<code>exists</code> and <code>all</code> for lists. What is compared with something that is not there is neither true nor
false.`,
    ],
    [
      code('limit'),
      html`How many on a page: ${budget.pageDefault} unless told, ${budget.pageEntities} at most.`,
    ],
    [
      code('cursor'),
      html`The <code>next</code> of the page before. It stays right while others come and go.`,
    ],
    [
      code('sort'),
      html`Dot paths with commas between them, through references too, <code>-</code> for descending:
<code>-created_at,id</code>.`,
    ],
    [
      code('search'),
      html`Words, where the type has fields that are searched: each must be in one of them, the last may be the beginning
of a word. Best first, unless <code>sort</code> is told.`,
    ],
    [code('count'), html`<code>1</code> adds <code>total</code>: how many there are on all pages.`],
    [code('fields'), html`Only these dot paths come back: <code>id,version</code>.`],
    [
      code('expand'),
      html`References whose targets come along in their place, nested with dots. For reads of one Entity, too.`,
    ],
    [
      code('trashed'),
      html`<code>only</code> the deleted ones, or <code>with</code> them. For those who may restore.`,
    ],
    [code('at'), html`A time: what was live then, as it stood then. For those who may see the history.`],
    [
      'any dot path',
      html`Only those that have this value: <code>?version=1</code>${example}. <code>null</code> is for what is empty,
but not in texts.`,
    ],
  ]
}

export function changesSection(): Section {
  return {
    id: 'changes',
    title: 'Changes',
    body: html`<p><code>PATCH</code> merges the keys that are sent into what is there: what is left out stays, and
<code>null</code> takes away (RFC 7396). <code>PUT</code> replaces: what is left out becomes its default or
<code>null</code>; only secrets stay.</p>
<p>Every Entity has a <code>version</code>, which every change raises by one. An <code>ETag</code>
begins with it; behind it comes a hash of the answer, so that it changes with whatever you see.</p>
<ul>
<li><code>If-Match: "3"</code> on <code>PATCH</code>, <code>PUT</code> and <code>DELETE</code> makes the write only if it is
still at version 3, and answers 412 otherwise. Without it the last write wins.</li>
<li><code>If-None-Match</code> with an <code>ETag</code> on <code>GET</code> answers 304, without a body, if you would get the
same again.</li>
<li>Every write answers with <code>Takeback-Operation</code>, the name of the change in the journal.</li>
</ul>
<p>A list in the place of a new Entity creates all of its members or none: <code>{"data": […]}</code>, in their order.
<code>POST /api/batch/</code> makes many writes of any kind as one operation: a list of <code>{"method", "path",
"body"}</code>, in which <code>"$0.id"</code> stands for the <code>id</code> that the first of them has answered.</p>
<p>Where an answer may get lost, send <code>Idempotency-Key</code> with the write: within 24 hours the same
request with the same key is not done again, but answered as it first was, with <code>Idempotent-Replay: true</code>.</p>
<p><code>Takeback-Run</code> says which run a write belongs to, <code>Takeback-Reason</code> why it is made; operations and
history show both.</p>
`,
  }
}

export function removalSection(): Section {
  const rows = [
    [code('DELETE …/7/'), 'Deletes', html`200 and the Entity, with <code>deleted_at</code>`],
    [code('DELETE …/7/?restore=1'), 'Takes the delete back', '200 and the Entity, live again'],
    [code('DELETE …/7/?purge=1'), 'Erases for good what is deleted', '204'],
  ]
  return {
    id: 'removal',
    title: 'Delete, restore, purge',
    body: html`${table('Delete, restore and purge', ['Call', 'Meaning', 'Answer'], rows)}
<p>A delete is one operation. It takes along all that hangs from the Entity, at any depth, and clears the references that
are to be cleared. If something stands against it, nothing happens, and the answer is 409 and says what holds it.</p>
<p>A restore takes back exactly that operation. What had been deleted before stays deleted; what was deleted on its own
afterwards stays deleted too. Cleared references are set again where they are still empty.</p>
<ul>
<li>What is deleted is not found, and is left out of lists. Its unique values are free for others; if one is taken
meanwhile, the restore is answered with 422.</li>
<li>What refers to something that is still deleted cannot be restored before it: 409.</li>
<li>Repeating a delete or a restore answers 200 again, and changes nothing.</li>
<li>A purge takes along what the delete took, and erases its data from the journal too. It cannot be taken back.</li>
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
    body: html`<p>Failures from 500 on have a <code>request_id</code> too. It stands in the log of the server, beside the
cause.</p>
${table('Errors', ['Code', 'Status', 'Message'], rows)}
`,
  }
}
