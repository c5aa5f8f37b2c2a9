import { CHANGES } from '../api/description.ts'
import { code, figure, html, type Section, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpointList } from './page-calls.ts'

const TYPES = [
  [code('upsert'), html`Replace what you have by <code>data</code>`],
  [code('remove'), 'Remove it: it is deleted, no longer matches the filter, or you may no longer see it'],
  [code('reset'), 'Read the whole type again, then continue'],
]

/** The section about following changes. */
export function followSection(first: string, operations: readonly Operation[]): Section {
  return {
    id: 'follow',
    title: 'Follow changes',
    body: html`<p>Every list and every read has the header <code>Takeback-Position</code>. Ask what has changed since, and
continue from <code>next</code>. The rules are those of reads. With <code>Accept: text/event-stream</code> it is a stream of server-sent
events.</p>
${figure(
  html`<span class="method get">GET</span> Changes since a position; waits for one`,
  curl(`/api/changes/?entity=${first}&since=a41c09d27e55-1204-2k9x0fz3&wait=30`, { token: true }),
)}${table('What to do with a change', ['Type', 'Meaning'], TYPES)}
<h3>Endpoints</h3>
${endpointList(operations.filter(({ tag }) => tag === CHANGES))}
`,
  }
}
