import { didYouMean } from './closest.ts'
import type { EntityDeclaration } from './define.ts'
import { labels } from './fields/field.ts'
import { type Field, walk } from './model.ts'
import type { Problems } from './problems.ts'

/** Words for people: they change nothing else. */
export function checkLabels(declaration: EntityDeclaration, path: string, problems: Problems): void {
  for (const name of ['label', 'description'] as const) {
    const wrong = declaration[name] === undefined ? undefined : labels[name](declaration[name])
    if (wrong !== undefined) problems.push([`${path}.${name}`, wrong])
  }
}

/** A text that is no secret: what an Entity is called must be readable. */
export function resolveTitle(
  title: unknown,
  fields: readonly Field[],
  path: string,
  problems: Problems,
): string | undefined {
  if (title === undefined) return undefined
  const texts = [...walk(fields)].filter(
    (field) => field.kind === 'value' && field.column === 'text' && !field.secret,
  )
  const found = texts.find((field) => field.path === title)
  if (found !== undefined) return found.path
  const hint = didYouMean(
    String(title),
    texts.map((field) => field.path),
  )
  problems.push([`${path}.title`, `must be the dot path of a text of this type${hint}`])
  return undefined
}
