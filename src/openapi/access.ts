import type { Action } from '../declare/define.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'

type Audience = 'everyone' | 'signed-in' | 'admins'

/** Who may: without a rule, admins only. */
export function audienceOf(type: EntityType, action: Action): Audience {
  return type.access[action]?.rule ?? 'admins'
}

/** Who may, in words that stand alone. */
export function nameAudience(audience: Audience, { admins }: Model): string {
  switch (audience) {
    case 'everyone':
      return 'everyone, without a token'
    case 'signed-in':
      return 'whoever is signed in'
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
    case 'admins':
      return whole || audienceOf(type, 'read') !== 'admins'
        ? ['unauthenticated', 'forbidden']
        : ['unauthenticated']
  }
}
