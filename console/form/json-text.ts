/** JSON as typed, parsed or not. */
export type Parsed =
  | { readonly value: unknown }
  | { readonly wrong: string; readonly line?: number; readonly column?: number }

export function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    const wrong = error instanceof Error ? error.message : String(error)
    // Browsers word the position differently; some leave it out.
    const [, line, column] = /line (\d+) column (\d+)/.exec(wrong) ?? []
    if (line !== undefined) return { wrong, line: Number(line), column: Number(column) }
    const [, position] = /position (\d+)/.exec(wrong) ?? []
    const place = position === undefined ? text.length : Number(position)
    const before = text.slice(0, place).split('\n')
    return { wrong, line: before.length, column: (before.at(-1) ?? '').length + 1 }
  }
}

type Plain = Readonly<Record<string, unknown>>

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the merge patch (RFC 7396) that turns one value into the other. */
export function mergePatch(from: unknown, to: unknown): unknown {
  if (!isPlain(from) || !isPlain(to)) return to
  const gone = Object.keys(from).filter((name) => !(name in to))
  const changed = Object.entries(to).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(from[name]),
  )
  return Object.fromEntries([
    ...gone.map((name) => [name, null]),
    ...changed.map(([name, value]) => [name, mergePatch(from[name], value)]),
  ])
}

/** Whether a merge patch can turn one value into the other: it cannot put a null into an object. */
export function canMerge(from: unknown, to: unknown): boolean {
  if (!isPlain(to)) return true
  const known = isPlain(from) ? from : {}
  return Object.entries(to).every(
    ([name, value]) =>
      JSON.stringify(value) === JSON.stringify(known[name]) ||
      (value !== null && canMerge(known[name], value)),
  )
}

export type JsonPart = { readonly kind: 'key' | 'text' | 'number' | 'word' | 'other'; readonly text: string }

const PARTS = /("(?:[^"\\\n]|\\.)*"?)(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b|[^"\d\w-]+|./g

/** Splits JSON, valid or not, into parts to colour. */
export function jsonParts(text: string): JsonPart[] {
  return [...text.matchAll(PARTS)].flatMap(([all, quoted, colon, number, word]): JsonPart[] => {
    if (quoted !== undefined)
      return colon === undefined
        ? [{ kind: 'text', text: quoted }]
        : [
            { kind: 'key', text: quoted },
            { kind: 'other', text: colon },
          ]
    return [{ kind: number !== undefined ? 'number' : word !== undefined ? 'word' : 'other', text: all }]
  })
}
