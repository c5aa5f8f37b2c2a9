import { closest } from '../closest.ts'
import type { Members } from './scope.ts'

/**
 * What to write instead of a dot path that names no single value, as the end of a sentence; empty if unknown. It
 * reveals only names that the caller may know.
 */
export function hintAt(path: string, members: Members): string {
  const names = path.split('.')
  let here = members
  for (const [at, name] of names.entries()) {
    const member = here.get(name)
    if (member === undefined) {
      const guess = closest(name, here.names)
      return guess === undefined ? '' : `; did you mean "${names.with(at, guess).join('.')}"?`
    }
    if (at < names.length - 1) {
      if (member.is !== 'object' && member.is !== 'reference') return ''
      here = member.is === 'object' ? member.members : member.members()
    } else if (member.is === 'reference') return `: it is a reference, so write ${path}.id`
    else if (member.is === 'object') return `: it is an object, so name a value in it`
    else if (member.is === 'list')
      return 'from' in member.item
        ? `: use filter=${path}.exists(…) or sort=size(${path})`
        : ': it is a list, so use filter with in, exists or all'
  }
  return ''
}
