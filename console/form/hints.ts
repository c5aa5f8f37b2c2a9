import type { Field, Item } from '../model.ts'
import type { Texts } from '../texts/index.ts'

/** What a value must be, in a few words. */
export function hintsOf(kind: Item, texts: Texts): string[] {
  const { limits } = texts.entity
  const { min, max, pattern, unique } = kind
  const words = kind.type === 'list' ? limits.items : isText(kind.type) ? limits.characters : limits.values
  // A limit that nobody reaches by hand says nothing.
  const top = isText(kind.type) && Number(max) > 1000 ? undefined : max
  return [
    ...(min !== undefined && top !== undefined ? [words.between(String(min), String(top))] : []),
    ...(min !== undefined && top === undefined ? [words.min(String(min))] : []),
    ...(min === undefined && top !== undefined ? [words.max(String(top))] : []),
    ...(pattern !== undefined && kind.example !== undefined ? [limits.example(String(kind.example))] : []),
    ...(unique === true ? [limits.unique] : []),
    ...(kind.type === 'decimal' && kind.scale !== undefined ? [limits.scale(kind.scale)] : []),
    ...(kind.type === 'datetime' ? [limits.zone(zoneName())] : []),
  ]
}

/** A pattern is for programs: people see it only where there is neither an example nor a description. */
export function isPatternShown({ pattern, example, description }: Field): boolean {
  return pattern !== undefined && example === undefined && !description
}

/** What is wrong with a value, without its pattern where there are better words. */
export function inWords(message: string, field: Field, { entity: { limits } }: Texts): string {
  const { pattern, example } = field
  if (pattern === undefined || isPatternShown(field) || !message.includes(pattern)) return message
  return example === undefined ? limits.otherForm : limits.formOf(String(example))
}

function isText(type: string): boolean {
  return ['text', 'email', 'url', 'secret', 'password'].includes(type)
}

/** The time zone of the browser: `Europe/Zurich`. */
export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
