import { no } from '../declare/cel/expression.ts'
import type { Action } from '../declare/define.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'
import { nobody } from '../plan/viewer/actor.ts'
import { viewersOf } from '../plan/viewer/viewer.ts'

/** `some`: those for whom a condition holds. What it says is nobody's business: strangers read this too. */
type Audience = 'everyone' | 'signed-in' | 'some' | 'admins'

/** Who may: without a rule, admins only. */
export function audienceOf(type: EntityType, action: Action): Audience {
  const rule = type.access[action]
  if (rule === undefined) return 'admins'
  return typeof rule === 'string' ? 'some' : rule.rule
}

/** Whether there are Entities with which it can be done without a token. */
export function isOpen(type: EntityType, model: Model, actions: readonly Action[]): boolean {
  const viewer = viewersOf(model).of(nobody)
  return actions.some((action) => viewer.may(type, action) !== no)
}

/** Who may, in words that stand alone. */
export function nameAudience(audience: Audience, { admins }: Model): string {
  switch (audience) {
    case 'everyone':
      return 'everyone, without a token'
    case 'signed-in':
      return 'whoever is signed in'
    case 'some':
      return 'whoever its rule lets, and admins'
    case 'admins':
      return admins === undefined ? 'nobody: no admins are declared' : `${admins} only`
  }
}

/**
 * How those who may not are answered. What cannot be read is not there, so only what can be read is forbidden;
 * `whole`: the call is not about one Entity, so there is nothing to hide.
 */
export function refusalsOf(type: EntityType, action: Action, whole: boolean): Code[] {
  switch (audienceOf(type, action)) {
    case 'everyone':
      return []
    case 'signed-in':
      return ['unauthenticated']
    case 'some':
      return ['unauthenticated', 'forbidden']
    case 'admins':
      return whole || audienceOf(type, 'read') !== 'admins'
        ? ['unauthenticated', 'forbidden']
        : ['unauthenticated']
  }
}
