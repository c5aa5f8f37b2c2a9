/** The name under which a literal of a filter is bound. */
export function literalName(at: number): string {
  return `$literal ${at}`
}

/** The parameter of the upper bound of a prefix range. */
export function behindName(at: number): string {
  return `${literalName(at)} behind`
}

/** The upper bound of all texts with this prefix; undefined if there is none. */
export function behind(prefix: string): string | undefined {
  const points = [...prefix].map((one) => one.codePointAt(0) ?? 0)
  while (points.length > 0) {
    const last = points.pop() ?? 0
    const next = last === 0xd7ff ? 0xe000 : last + 1
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next)
  }
  return undefined
}
