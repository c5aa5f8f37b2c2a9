const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

/** Values that a page cannot know, and what it may show instead. */
const VOLATILE: Readonly<Record<string, { readonly found: string; readonly allowed: string }>> = {
  id: { found: UUID, allowed: UUID },
  time: { found: '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z', allowed: '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z' },
  took: { found: 'in \\d+\\.\\d s', allowed: 'in \\d+\\.\\d s' },
  rows: { found: 'Copied [\\d,]+ rows', allowed: 'Copied [\\d,]+ rows' },
  lines: { found: '\\n *…(?=\\n|$)', allowed: '[\\s\\S]*?' },
  rest: { found: '…', allowed: '.*?' },
}
const KINDS = Object.keys(VOLATILE)
const ANY = new RegExp(KINDS.map((kind) => `(?<${kind}>${VOLATILE[kind]?.found})`).join('|'), 'g')

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Whether a command has answered as documented. `…` stands for anything, and alone on a line for any lines. Ids of
 * operations differ each time: `known` maps those of the page to those of this run.
 */
export function answersAs(output: string, documented: string, known: Map<string, string>): boolean {
  const fresh: string[] = []
  let pattern = ''
  let end = 0
  for (const found of documented.matchAll(ANY)) {
    const kind = KINDS.find((one) => found.groups?.[one] !== undefined) ?? ''
    pattern += literal(documented.slice(end, found.index)) + allowedFor(kind, found[0])
    end = found.index + found[0].length
  }
  const match = new RegExp(`^${pattern}${literal(documented.slice(end))}$`).exec(output.trimEnd())
  for (const [at, id] of fresh.entries())
    if (match?.[at + 1] !== undefined) known.set(id, match[at + 1] ?? '')
  return match !== null

  function allowedFor(kind: string, text: string): string {
    const allowed = VOLATILE[kind]?.allowed ?? ''
    if (kind !== 'id') return allowed
    const actual = known.get(text)
    if (actual !== undefined) return actual
    if (fresh.includes(text)) return `\\${fresh.indexOf(text) + 1}`
    fresh.push(text)
    return `(${allowed})`
  }
}

/** Returns a command of a page, with the ids of this run. */
export function withKnown(command: string, known: ReadonlyMap<string, string>): string {
  return command.replace(new RegExp(UUID, 'g'), (id) => known.get(id) ?? id)
}
