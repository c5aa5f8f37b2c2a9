import { type Characters, writeCharacters } from './characters.ts'

/** A parsed pattern, independent of the engine that runs it. */
export type Pattern =
  | { readonly kind: 'characters'; readonly characters: Characters }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly branches: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly of: Pattern; readonly min: number; readonly max: number }
  | { readonly kind: 'begin' | 'end' }

export const EMPTY: Pattern = { kind: 'sequence', parts: [] }

/** Whether a pattern contains `^` or `$`. */
export function hasAnchor(pattern: Pattern): boolean {
  if (pattern.kind === 'sequence') return pattern.parts.some(hasAnchor)
  if (pattern.kind === 'choice') return pattern.branches.some(hasAnchor)
  return pattern.kind === 'begin' || pattern.kind === 'end'
}

export function characters(set: Characters): Pattern {
  return { kind: 'characters', characters: set }
}

/** Writes a pattern in the syntax that all engines share. Never begins with text that an engine takes for options. */
export function writePattern(pattern: Pattern): string {
  switch (pattern.kind) {
    case 'begin':
      return '^'
    case 'end':
      return '$'
    case 'characters':
      return writeCharacters(pattern.characters)
    case 'sequence':
      return pattern.parts.length === 0
        ? '(?:)'
        : pattern.parts
            .map((part) => (part.kind === 'choice' ? `(?:${writePattern(part)})` : writePattern(part)))
            .join('')
    case 'choice':
      return pattern.branches.map(writePattern).join('|')
    case 'repeat':
      return `${writeOperand(pattern.of)}${writeBounds(pattern.min, pattern.max)}`
  }
}

function writeOperand(pattern: Pattern): string {
  return pattern.kind === 'characters' ? writePattern(pattern) : `(?:${writePattern(pattern)})`
}

function writeBounds(min: number, max: number): string {
  if (max === Number.POSITIVE_INFINITY) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}
