/** A character that no type name can contain. */
const MARK = '~'

/** The name of a dropped type. Another type may get its former name. */
export function droppedName(name: string, generation: number): string {
  return `${name}${MARK}${generation}`
}

/** The reason why a task of a dropped type is not run. */
export function droppedReason(name: string): string {
  return `${name} was dropped with "takeback migrate --drop", and with it what this task was for.`
}

/** The former name of a dropped type; undefined if the type was not dropped. */
export function nameBeforeDrop(name: string): string | undefined {
  const at = name.indexOf(MARK)
  return at < 0 ? undefined : name.slice(0, at)
}
