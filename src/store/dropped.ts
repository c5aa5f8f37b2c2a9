/** Stands in no name of a type. */
const MARK = '~'

/** What a type that was dropped is called from then on: another one may get the name that it had. */
export function droppedName(name: string, generation: number): string {
  return `${name}${MARK}${generation}`
}

/** Why what was to be done for a type is not done any more. */
export function wasDropped(name: string): string {
  return `${name} was dropped with "takeback migrate --drop", and with it what this was about.`
}

/** The name that a type had when it was dropped; undefined if this is no such type. */
export function nameBeforeDrop(name: string): string | undefined {
  const at = name.indexOf(MARK)
  return at < 0 ? undefined : name.slice(0, at)
}
