import { didYouMean } from './closest.ts'
import type { EntityDeclaration } from './define.ts'
import { labels } from './fields/field.ts'
import { type Field, walk } from './model.ts'
import type { Problems } from './problems.ts'

/** Checks labels and descriptions. They change nothing but texts for people. */
export function checkLabels(declaration: EntityDeclaration, path: string, problems: Problems): void {
  for (const name of ['label', 'description'] as const) {
    const wrong = declaration[name] === undefined ? undefined : labels[name](declaration[name])
    if (wrong !== undefined) problems.push([`${path}.${name}`, wrong])
  }
}

/** The path of the title: a text that is not secret, so that people can read it. */
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
