/** One line of the table. All of it is text, except whether the bar is met; undefined if there is no bar. */
export interface Line {
  readonly what: string
  readonly takeback: string
  readonly against?: string
  readonly ratio?: string
  readonly bar?: string
  readonly met?: boolean
}

/** A bar for a number: the least or the most that it may be. */
export type Bar = { readonly least: number } | { readonly most: number; readonly unit?: string }

export function judge(value: number, bar: Bar): { bar: string; met: boolean } {
  if ('least' in bar) return { bar: `>= ${bar.least}`, met: value >= bar.least }
  return { bar: `<= ${bar.most}${bar.unit ?? ''}`, met: value <= bar.most }
}

export function tableOf(lines: readonly Line[]): string {
  const head = ['', 'Takeback', 'against', 'ratio', 'bar', '']
  const cells = lines.map(({ what, takeback, against = '', ratio = '', bar = '', met }) => [
    what,
    takeback,
    against,
    ratio,
    bar,
    met === undefined ? '' : met ? 'met' : 'MISSED',
  ])
  const widths = head.map((title, at) => Math.max(title.length, ...cells.map((row) => row[at]?.length ?? 0)))
  const draw = (row: readonly string[]) =>
    row
      // Numbers are aligned at the right, words at the left.
      .map((cell, at) => (at >= 1 && at <= 3 ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd()
  return [draw(head), ...cells.map(draw)].join('\n')
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

const wholes = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export function whole(number: number): string {
  return wholes.format(number)
}

export function milliseconds(number: number): string {
  return `${number < 10 ? number.toFixed(3) : whole(number)} ms`
}
