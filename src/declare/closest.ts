/** Longer words get no suggestion: it would take quadratic time, and nobody mistypes words like that. */
const LONGEST = 40

/** The known word that a mistyped one was most likely meant to be. */
export function closest(word: string, known: readonly string[]): string | undefined {
  if (word.length > LONGEST) return undefined
  const near = known
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(
      ({ candidate, distance }) =>
        distance <= Math.max(1, Math.floor(Math.min(word.length, candidate.length) / 2.5)),
    )
  return near.sort((a, b) => a.distance - b.distance)[0]?.candidate
}

/** The suggestion as the end of a sentence; empty if no known word is similar. */
export function didYouMean(word: string, known: readonly string[]): string {
  const guess = closest(word, known)
  return guess === undefined ? '' : `; did you mean "${guess}"?`
}

/** The number of edits; two swapped neighbours count as one (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}
