import type { UndoOptions, UndoResult } from '../src/declare/api-types.ts'

/** The parameters and answers of calls that belong to no Entity type. Types only. */

/** One operation: one act of one Actor, with one or more changes. */
export interface Operation {
  id: string
  at: string
  actor: string | null
  /** How many Entities it changed. */
  changes: number
  /** The number of Entities, by type and then by kind of change. */
  summary: Record<string, Record<string, number>>
  run?: string
  reason?: string
  cause?: string
  undoes?: string[]
  undone_by?: string[]
}

export interface OperationChange {
  entity: string
  id: number | null
  version: number | null
  kind: string
  changed: Record<string, { from: unknown; to: unknown }> | null
  /** Dot paths of secrets that were changed. */
  secrets?: string[]
}

export interface OperationInFull extends Operation {
  data: OperationChange[]
  next: string | null
}

/** Selects operations. */
export interface OperationFilter {
  readonly actor?: string
  readonly since?: string
  readonly until?: string
  /** An Entity type, or one Entity: `bookings/7`. */
  readonly entity?: string
  readonly run?: string
}

export interface OperationQuery extends OperationFilter {
  /** Only operations with a change of this kind, such as `delete`. */
  readonly kind?: string
  /** Only operations that this one has caused. */
  readonly cause?: string
  readonly limit?: number
  readonly cursor?: string
}

/** What a write would do. */
export interface Preview extends Pick<UndoResult, 'total'> {
  /** A page of at most 100 changes. An Entity that does not exist yet has no id. */
  changes: (Omit<UndoResult['changes'][number], 'id'> & { id: number | null })[]
  operation: null
  /** Send the same call with this `plan` to do exactly that. */
  plan: string
  next: string | null
}

/** Options of a write by a filter. */
export interface ManyOptions extends Pick<UndoOptions, 'dryRun'> {
  /** The `next` of a dry run. */
  readonly cursor?: string
}

/** What a write by a filter changed, or would change. */
export interface ChangedMany extends Pick<UndoResult, 'operation' | 'total' | 'changes'> {
  matched: number
  /** Only in a dry run. */
  plan?: string
  next?: string | null
}

type Text = string | readonly string[]

export interface SummaryQuery {
  readonly group?: Text
  readonly count?: boolean
  readonly sum?: Text
  readonly avg?: Text
  readonly min?: Text
  readonly max?: Text
  readonly distinct?: Text
  readonly sort?: Text
  readonly limit?: number
  readonly cursor?: string
}

/** One group of a summary, with the figures that were asked for. */
export interface SummaryItem {
  group?: Record<string, string | number | boolean | null>
  count?: number
  distinct?: Record<string, number>
  sum?: Record<string, number | string | null>
  avg?: Record<string, number | null>
  min?: Record<string, number | string | null>
  max?: Record<string, number | string | null>
}

export type Change =
  | {
      type: 'upsert'
      entity: string
      id: number
      version: number
      operation: string
      at: string
      actor: string | null
      data: Record<string, unknown>
    }
  | { type: 'remove'; entity: string; id: number; operation: string }
  | { type: 'reset'; entity: string }

export interface ChangesQuery {
  readonly since?: string
  readonly entity?: Text
  readonly filter?: string
  readonly fields?: Text
  readonly limit?: number
  /** Waits up to this many seconds for a change. */
  readonly wait?: number
}

export interface ChangesPage {
  data: Change[]
  next: string
  more: boolean
}

/** Whether a request would succeed. */
export interface MayAnswer {
  may: boolean
  code?: string
  errors?: Record<string, string[]>
  denied_by?: string
}

export interface MayQuestion {
  readonly action: 'list' | 'create' | 'read' | 'update' | 'delete' | 'restore' | 'purge' | 'history'
  /** `bookings/7`, or `bookings` for `list` and `create`. */
  readonly path: string
  readonly body?: object
  /** Whose request it would be, such as `users/5`. Only for admins. */
  readonly actor?: string
}

export interface Login {
  readonly email: string
  readonly password: string
  readonly user_type?: string | null
  /** The second factor, if the user has one: a code of the authenticator app, or a recovery code. */
  readonly code?: string
}

/** The answer to a login. */
export interface SignedIn<User> {
  token: string
  user: User
  expires_at: string
  password_expires_at?: string
}
