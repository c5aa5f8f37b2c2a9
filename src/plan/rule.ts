import { type Action, actions } from '../declare/define.ts'
import type { EntityType } from '../declare/model.ts'
import type { Actor } from './actor.ts'

export type Permissions = Readonly<Record<Action, (actor: Actor) => boolean>>

/** Admins and the system pass every rule; without a rule, only they do. */
export function compileRules(type: EntityType): Permissions {
  const compiled = actions.map((action) => [action, compileRule(type.access[action]?.rule)])
  return Object.freeze(Object.fromEntries(compiled) as Record<Action, (actor: Actor) => boolean>)
}

function compileRule(rule: 'everyone' | 'signed-in' | undefined): (actor: Actor) => boolean {
  switch (rule) {
    case 'everyone':
      return () => true
    case 'signed-in':
      return (actor) => actor.kind !== 'nobody'
    case undefined:
      return (actor) => actor.kind === 'system' || (actor.kind === 'user' && actor.admin)
  }
}
