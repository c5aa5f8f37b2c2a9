/** No type can have it in its name. */
const MARK = '~'

/** The name of a type once it is dropped: another type may get the name that it had. */
export function droppedName(name: string, generation: number): string {
  return `${name}${MARK}${generation}`
}

/** Why a task of a dropped type is not run. */
export function droppedReason(name: string): string {
  return `${name} was dropped with "takeback migrate --drop", and with it what this task was for.`
}

/** The name that a dropped type had; undefined if the type was not dropped. */
export function nameBeforeDrop(name: string): string | undefined {
  const at = name.indexOf(MARK)
  return at < 0 ? undefined : name.slice(0, at)
}
