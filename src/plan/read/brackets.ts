/** A text in quotes, as in CEL. Brackets and separators in it do not count. */
const QUOTED =
  /"""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[\s\S]/gu

/** Calls `visit` with each character outside of quotes, its place, and the number of brackets open after it. */
function scan(text: string, visit: (character: string, at: number, open: number) => boolean): void {
  let open = 0
  for (const { 0: part, index } of text.matchAll(QUOTED)) {
    if ('([{'.includes(part)) open++
    if (')]}'.includes(part)) open--
    if (!visit(part, index, open)) return
  }
}

/** Splits at separators outside of brackets and quotes. */
export function splitOutside(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let start = 0
  scan(text, (character, at, open) => {
    if (character === separator && open === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
    return true
  })
  return [...parts, text.slice(start)]
}

/** The length of the bracketed part at the beginning of a text. */
export function lengthUntilClosed(text: string): number {
  let length = text.length
  scan(text, (_, at, open) => {
    if (open > 0) return true
    length = at + 1
    return false
  })
  return length
}

/** What is wrong with the brackets and quotes of a text; undefined if they are right. */
export function imbalanceIn(text: string): string | undefined {
  let problem: string | undefined
  let left = 0
  scan(text, (character, _, open) => {
    left = open
    if (open < 0) problem = `has a "${character}" that nothing opens`
    else if (character === '"' || character === "'") problem = 'has a text without its closing quote'
    return problem === undefined
  })
  return problem ?? (left > 0 ? 'has a "(" without its ")"' : undefined)
}
