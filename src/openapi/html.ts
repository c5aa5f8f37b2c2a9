/** Text that is HTML already. The `html` tag escapes all other text, so that escaping cannot be forgotten. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = Html | string | number | readonly Content[]

/** html`<p>${anything}</p>` */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(parts.map((part, at) => part + render(values[at] ?? '')).join(''))
}

function render(content: Content): string {
  if (content instanceof Html) return content.text
  if (typeof content === 'string') return escapeHtml(content)
  return typeof content === 'number' ? String(content) : content.map(render).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}

export function joinHtml(contents: readonly Content[], between: Content): Content[] {
  return contents.flatMap((content, at) => (at === 0 ? [content] : [between, content]))
}

export function code(text: string): Html {
  return html`<code>${text}</code>`
}

/** Shows a name of several words. A narrow column may break it after each word. */
export function nameCode(name: string): Html {
  return html`<code>${joinHtml(name.split(/(?<=[._/])/), html`<wbr>`)}</code>`
}

/** A table that scrolls on its own if it is wide, also by keyboard, so that the page need not. */
export function table(
  label: string,
  headings: readonly string[],
  rows: readonly (readonly Content[])[],
  kind = '',
): Html {
  const cell = (content: Content, at: number) =>
    at === 0 ? html`<th scope="row">${content}</th>` : html`<td>${content}</td>`
  return html`<div class="table ${kind}" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>`)}</tbody>
</table></div>
`
}

/** A block of code with a caption. */
export function figure(caption: Content, text: Content): Html {
  return html`<figure><figcaption>${caption}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>
`
}

/** JSON on several lines, with short objects on one line and keys highlighted. */
export function jsonCode(value: unknown, indent = ''): Html {
  const flat = JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return html`<span class="value">${flat}</span>`
  const inner = `${indent}  `
  const items = Array.isArray(value)
    ? value.map((one) => jsonCode(one, inner))
    : Object.entries(value).map(
        ([key, one]) => html`<span class="key">${JSON.stringify(key)}</span>: ${jsonCode(one, inner)}`,
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (flat.length <= ONE_LINE) return html`${open}${joinHtml(items, ', ')}${close}`
  return html`${open}\n${joinHtml(
    items.map((item) => html`${inner}${item}`),
    ',\n',
  )}\n${indent}${close}`
}

const ONE_LINE = 40

/** A chapter of the page, with its entry in the table of contents. */
export interface Section {
  readonly id: string
  readonly title: string
  readonly body: Html
}
