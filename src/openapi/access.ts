import { no } from '../declare/cel/expression.ts'
import type { Action } from '../declare/define.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'
import { nobody } from '../plan/viewer/actor.ts'
import { viewersOf } from '../plan/viewer/viewer.ts'

/** `some`: callers who meet a condition. The condition itself is not shown, since strangers read this too. */
type Audience = 'everyone' | 'signed-in' | 'some' | 'admins'

/** Who may do an action. Without a rule, only admins. */
export function audienceOf(type: EntityType, action: Action): Audience {
  const rule = type.access[action]
  if (rule === undefined) return 'admins'
  return typeof rule === 'string' ? 'some' : rule.rule
}

/** Whether any of these actions is possible without a token, at least on some Entities. */
export function isOpen(type: EntityType, model: Model, actions: readonly Action[]): boolean {
  const viewer = viewersOf(model).of(nobody)
  return actions.some((action) => viewer.may(type, action) !== no)
}

/** Names an audience in words. */
export function nameAudience(audience: Audience, { admins }: Model): string {
  switch (audience) {
    case 'everyone':
      return 'everyone, without a token'
    case 'signed-in':
      return 'signed-in users'
    case 'some':
      return 'those a rule allows, and admins'
    case 'admins':
      return admins === undefined ? 'nobody: no admins are declared' : `${admins} only`
  }
}

/**
 * The failures for callers who may not. An Entity that they cannot read is answered with 404, so `forbidden` is only
 * for Entities that they can read. `whole`: the call is not about one Entity, so there is nothing to hide.
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
