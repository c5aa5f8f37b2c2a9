import type { Success } from '../api/description.ts'
import { type Content, code, figure, Html, html, joinHtml, jsonCode, nameCode } from './html.ts'
import type { Operation } from './operation.ts'

/** A list of calls. Each line opens to show a description and an example. */
export function endpointList(operations: readonly Operation[]): Html {
  return html`<ul class="endpoints">
${operations.map(endpoint)}</ul>`
}

function endpoint(operation: Operation): Html {
  const { id, method, path, summary, description } = operation
  return html`<li id="call-${id}"><details><summary><span class="method ${method.toLowerCase()}">${method}</span> ${nameCode(path)} <span class="summary">${summary}</span></summary>
<div class="call"><p>${prose(description)}</p>
${callExample(operation)}</div></details></li>
`
}

/** Formats text with `code` in backticks. */
function prose(text: string): Content {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : code(part)))
}

const AN_OPERATION = '01a1ddee-4c20-7471-b666-e716462ff2c3'

function callExample({ method, path, query, open, body, answers, types }: Operation): Content {
  const id = path.startsWith('/api/operations/') ? AN_OPERATION : '1'
  // A batch may be open to everyone, but the writes in this example may not.
  const token = !open || path === '/api/batch/'
  const asked = figure(
    'Shell',
    curl(path.replace('{id}', id).replace(/\{\w+\}/g, '1') + query, {
      method,
      token,
      body: body?.example,
      accept: types[0],
    }),
  )
  return [asked, ...answers.slice(0, 1).map(answerTo)]
}

function answerTo({ status, description, example }: Success): Html {
  if (example === undefined)
    return html`<p class="note">Answers ${status}: ${prose(description)}</p>
`
  return figure(`${status}`, jsonCode(example))
}

/** A call to paste into a shell where `BASE` and `TOKEN` are set. */
export function curl(
  path: string,
  {
    method,
    token,
    body,
    accept = 'application/json',
  }: { method?: string; token: boolean; body?: unknown; accept?: string | undefined },
): Html {
  const usual = body === undefined ? 'GET' : 'POST'
  const lines: Content[] = [
    html`curl ${(method ?? usual) === usual ? '' : `-X ${method} `}"$BASE${path}"`,
    ...(token ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    `-H "Accept: ${accept}"`,
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', html`-d '${inQuotes(jsonCode(body, '  '))}'`]),
  ]
  return html`${joinHtml(lines, ' \\\n  ')}`
}

/** A `'` would end the shell's quotes, so it is escaped in the JSON. */
function inQuotes({ text }: Html): Html {
  return new Html(text.replaceAll('&#39;', '\\u0027'))
}
