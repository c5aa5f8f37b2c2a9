/** A part of a difference: in both texts, only in the old one, or only in the new one. */
export interface DiffPart {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** More comparisons would take longer than a few milliseconds. */
const MOST_CELLS = 1_000_000

/** Compares two texts word by word; long ones line by line; very long ones as a whole. */
export function diffTexts(from: string, to: string): DiffPart[] {
  for (const split of [wordsOf, linesOf]) {
    const found = diffTokens(split(from), split(to))
    if (found !== undefined) return found
  }
  return joined([
    { kind: 'removed', text: from },
    { kind: 'added', text: to },
  ])
}

function wordsOf(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu) ?? []
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function diffTokens(from: readonly string[], to: readonly string[]): DiffPart[] | undefined {
  const most = Math.min(from.length, to.length)
  let start = 0
  while (start < most && from[start] === to[start]) start++
  let end = 0
  while (end < most - start && from.at(-1 - end) === to.at(-1 - end)) end++
  const [a, b] = [from.slice(start, from.length - end), to.slice(start, to.length - end)]
  if (a.length * b.length > MOST_CELLS) return undefined
  return joined([
    { kind: 'same', text: from.slice(0, start).join('') },
    ...middle(a, b),
    { kind: 'same', text: from.slice(from.length - end).join('') },
  ])
}

/** Compares by the longest common subsequence. */
function middle(a: readonly string[], b: readonly string[]): DiffPart[] {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
  const parts: DiffPart[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]]
    const down = lengths[(i + 1) * width + j] ?? 0
    const along = lengths[i * width + j + 1] ?? 0
    if (left !== undefined && left === right) {
      parts.push({ kind: 'same', text: left })
      i++
      j++
    } else if (left !== undefined && (right === undefined || down >= along)) {
      parts.push({ kind: 'removed', text: left })
      i++
    } else {
      parts.push({ kind: 'added', text: right ?? '' })
      j++
    }
  }
  return parts
}

/** Joins neighbours of one kind. A single space between two changes becomes part of them. */
function joined(parts: readonly DiffPart[]): DiffPart[] {
  const all: DiffPart[] = []
  let [removed, added] = ['', '']
  const flush = () => {
    if (removed !== '') all.push({ kind: 'removed', text: removed })
    if (added !== '') all.push({ kind: 'added', text: added })
    ;[removed, added] = ['', '']
  }
  for (const [at, { kind, text }] of parts.entries()) {
    if (text === '') continue
    const next = parts[at + 1]?.kind
    const isGap =
      kind === 'same' && text === ' ' && removed + added !== '' && next !== undefined && next !== 'same'
    if (kind !== 'added') removed += kind === 'removed' || isGap ? text : ''
    if (kind !== 'removed') added += kind === 'added' || isGap ? text : ''
    if (kind !== 'same' || isGap) continue
    flush()
    const last = all.at(-1)
    if (last?.kind === 'same') all[all.length - 1] = { kind, text: last.text + text }
    else all.push({ kind, text })
  }
  flush()
  return all
}

/** The most characters shown of one changed part, and of all. The page of the past state has the whole text. */
const LONGEST = 500
const MOST_SHOWN = 4000

/** Shortens unchanged parts to what is next to a change, and long changes to their beginning and end. */
export function shortened(parts: readonly DiffPart[], context = 60): DiffPart[] {
  const all: DiffPart[] = []
  let length = 0
  for (const [at, part] of parts.entries()) {
    if (length > MOST_SHOWN) return [...all, { kind: 'same', text: ' …' }]
    const text = part.kind === 'same' ? besideChanges(part.text, at, parts.length, context) : cut(part.text)
    all.push({ ...part, text })
    length += text.length
  }
  return all
}

function besideChanges(text: string, at: number, count: number, context: number): string {
  if (text.length <= context * 2 + 20) return text
  return `${at === 0 ? '' : text.slice(0, context)} … ${at === count - 1 ? '' : text.slice(-context)}`
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 100)} … ${text.slice(-80)}`
}
