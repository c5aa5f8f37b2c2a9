import type { Field, Item } from '../model.ts'
import type { Texts } from '../texts/index.ts'

/** Returns the constraints of a value, in a few words. */
export function hintsOf(kind: Item, texts: Texts): string[] {
  const { limits } = texts.entity
  const { min, max, pattern, unique } = kind
  const words = kind.type === 'list' ? limits.items : isText(kind.type) ? limits.characters : limits.values
  // A very high limit is not worth a hint.
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

/** Patterns are for programs: people see one only if there is neither an example nor a description. */
export function isPatternShown({ pattern, example, description }: Field): boolean {
  return pattern !== undefined && example === undefined && !description
}

/** Returns an error message, without the pattern if there are better words. */
export function inWords(message: string, field: Field, { entity: { limits } }: Texts): string {
  const { pattern, example } = field
  if (pattern === undefined || isPatternShown(field) || !message.includes(pattern)) return message
  return example === undefined ? limits.otherForm : limits.formOf(String(example))
}

function isText(type: string): boolean {
  return ['text', 'email', 'url', 'secret', 'password'].includes(type)
}

/** Returns the time zone of the browser: `Europe/Zurich`. */
export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
