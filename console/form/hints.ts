import type { Item } from '../model.ts'
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
    ...(pattern === undefined ? [] : [limits.pattern(pattern)]),
    ...(unique === true ? [limits.unique] : []),
    ...(kind.type === 'decimal' && kind.scale !== undefined ? [limits.scale(kind.scale)] : []),
    ...(kind.type === 'datetime' ? [limits.zone(zoneName())] : []),
  ]
}

function isText(type: string): boolean {
  return ['text', 'email', 'url', 'secret', 'password'].includes(type)
}

/** The time zone of the browser: `Europe/Zurich`. */
export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
