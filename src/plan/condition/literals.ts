/** The name under which a literal of a filter is bound. */
export function literalName(at: number): string {
  return `$literal ${at}`
}

/** The name under which the end of a range that starts with it is bound. */
export function behindName(at: number): string {
  return `${literalName(at)} behind`
}

/** The first text behind all that start with this one; undefined where there is none. */
export function behind(prefix: string): string | undefined {
  const points = [...prefix].map((one) => one.codePointAt(0) ?? 0)
  while (points.length > 0) {
    const last = points.pop() ?? 0
    const next = last === 0xd7ff ? 0xe000 : last + 1
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next)
  }
  return undefined
}
