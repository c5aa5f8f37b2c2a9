import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { type EntityType, walk } from '../../declare/model.ts'
import type { FieldAction } from '../../declare/rules.ts'
import type { Viewer } from './viewer.ts'

/** What a caller sees of one Entity: the result of each of `FieldAccess.rules`. */
export type RuleResults = readonly boolean[]

/**
 * The rules that decide for each Entity which fields a caller sees, and so which fields a PUT replaces. A hidden field
 * is returned as `null`, so a `null` that they send back must not overwrite it.
 */
export interface FieldAccess {
  /** Each distinct rule once. The fields of an object share its rule. */
  readonly rules: readonly Expression[]
  /** The rule of a field: its result in `ruleResults`, or the rule itself if there is none. */
  may(action: FieldAction, path: string, ruleResults?: RuleResults): Expression
}

export function fieldAccessOf(type: EntityType, viewer: Viewer): FieldAccess {
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
    // A write rule may depend on the new values: it is checked when they are written.
    if (viewer.mayField(type, path, 'write') === yes) add('change', path)
  }
  return {
    rules: [...rules.values()],
    may(action, path, ruleResults) {
      const place = ruleResults === undefined ? undefined : places.get(`${action} ${path}`)
      if (place === undefined) return viewer.mayField(type, path, action)
      return ruleResults?.[place] ? yes : no
    },
  }
}
