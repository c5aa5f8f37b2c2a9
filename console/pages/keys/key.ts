import type { Texts } from '../../texts/index.ts'

/** A key, as `GET /api/auth/keys/` lists it. */
export interface Key {
  readonly id: number
  /** How the journal names it: `keys/7`. */
  readonly actor: string
  readonly user: string
  readonly name: string
  readonly agent: boolean
  readonly can: {
    readonly read_only?: boolean
    readonly entities?: Readonly<Record<string, readonly string[]>>
  } | null
  readonly limits: Readonly<Record<string, number>> | null
  readonly created_at: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
  readonly ended_at: string | null
}

export const ACTIONS = ['read', 'create', 'update', 'delete', 'restore', 'purge', 'history'] as const

export const LIMITS = ['changes_per_operation', 'changes_per_hour', 'deletes_per_day'] as const

/** Returns what a key may do, in one line. */
export function rightsOf({ can }: Key, texts: Texts['keys']): string {
  if (can === null) return texts.asUser
  const named = (action: string) => texts.actions[action as (typeof ACTIONS)[number]]?.toLowerCase() ?? action
  const types = Object.entries(can.entities ?? {}).map(
    ([name, actions]) => `${name}: ${actions.map(named).join(', ')}`,
  )
  return (
    [can.read_only ? texts.readOnly : '', ...types].filter(Boolean).join('; ') ||
    (can.entities ? texts.nothing : texts.asUser)
  )
}
