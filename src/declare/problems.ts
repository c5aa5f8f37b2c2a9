/** All mistakes found so far: the path in the declaration, and what would be right. */
export type Problems = [path: string, sentence: string][]

/** The place of a field in the declaration, by its dot path. */
export function declaredAt(type: string, path: string): string {
  return `entities.${type}.fields.${path.split('.').join('.fields.')}`
}
