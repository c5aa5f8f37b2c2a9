import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { type EntityType, walk } from '../../declare/model.ts'
import type { FieldAction } from '../../declare/rules.ts'
import type { Viewer } from './viewer.ts'

/** What a caller sees of one Entity: for each of `Sights.rules`, whether it holds. */
export type Sight = readonly boolean[]

/**
 * The rules that decide, Entity by Entity, which fields a caller sees, and so which fields a whole body replaces. A field
 * that they do not see comes back as `null`: what they send in its place says nothing about it.
 */
export interface Sights {
  /** Each distinct rule once: the fields of an object share the object's. */
  readonly rules: readonly Expression[]
  /** What a field's rule says of an Entity that was looked at, or of any Entity where there is no `sight`. */
  may(action: FieldAction, path: string, sight?: Sight): Expression
}

export function sightsOf(type: EntityType, viewer: Viewer): Sights {
  const rules = new Map<string, Expression>()
  const places = new Map<string, number>()
  const add = (action: FieldAction, path: string): void => {
    const rule = viewer.mayField(type, path, action)
    if (rule === yes || rule === no) return
    const text = JSON.stringify(rule)
    rules.set(text, rule)
    places.set(`${action} ${path}`, [...rules.keys()].indexOf(text))
  }
  for (const { path } of walk(type.fields)) {
    add('read', path)
    // A rule for writing may speak of the new values as well: that one is asked when they are written.
    if (viewer.mayField(type, path, 'write') === yes) add('change', path)
  }
  return {
    rules: [...rules.values()],
    may(action, path, sight) {
      const place = sight === undefined ? undefined : places.get(`${action} ${path}`)
      if (place === undefined) return viewer.mayField(type, path, action)
      return sight?.[place] ? yes : no
    },
  }
}
