/** The answer of `GET /api/model/`: the declaration, as far as the caller may know it. Types only. */

/** `some` means that it depends on the Entity and its values. */
export type Possible = boolean | 'some'

export interface ModelItem {
  /** The declared type: `text`, `email`, `url`, `choice`, `integer`, `ref`, `list`, `object` … */
  type: string
  label: string | null
  description: string | null
  /** Whether a create must send it. */
  required: boolean
  nullable: boolean
  /** Counts characters in texts and items in lists. Decimals have it as a text. */
  min?: number | string
  max?: number | string
  pattern?: string
  choices?: string[]
  /** The number of digits after the point of a decimal. */
  scale?: number
  unique?: boolean
  search?: boolean
  fold?: boolean
  sort?: 'fold'
  example?: unknown
  /** The type that a reference refers to; `null` if the caller may not know it. */
  to?: string | null
  on_delete?: 'restrict' | 'cascade' | 'clear'
  as?: string
  /** The name of the reference in the items, for a list of objects with one. */
  member?: string
  /** The fields of an object. */
  fields?: ModelField[]
  /** The items of a list. */
  items?: ModelItem
}

export interface ModelField extends ModelItem {
  /** The dot path. In the items of a list, it starts at the item. */
  path: string
  name: string
  default?: unknown
  /** What the server sets if no value is sent: the caller, the time, or an expression. */
  provided?: 'me' | 'now' | 'server'
  computed?: true
  /** The expression of a computed field, for admins. */
  expression?: string
  /** Whether the caller can never set it. Items of lists do not have this key or those below. */
  read_only?: boolean
  may?: { read: Possible; create: Possible; update: Possible }
  /** Whether lists can be sorted by its path; a reference is sorted by its `id`. */
  sortable?: boolean
  filterable?: boolean
  /** Only for admins. */
  rules?: { read?: string; write?: string }
}

export interface ModelLogin {
  user_type: string
  login_with: string
  verify: boolean
  second: 'none' | 'optional' | 'required'
  /** Whether anybody may create an account. */
  sign_up: boolean
  password_min: number
}

export interface ModelEntity {
  name: string
  label: string | null
  description: string | null
  /** The dot path of the text that serves as the title of an Entity. */
  title: string | null
  may: Record<'list' | 'create' | 'read' | 'update' | 'delete' | 'restore' | 'purge' | 'history', Possible>
  fields: ModelField[]
  unique: string[][]
  referrers: {
    entity: string
    path: string
    as: string | null
    on_delete: 'restrict' | 'cascade' | 'clear'
    list: boolean
    member?: string
  }[]
  checks: { at: string; says: string; that?: string }[]
  search: boolean
  retention: { trash_ms: number | null; journal_ms: number | null }
  login: ModelLogin | null
  /** Only for admins. */
  rules?: { access: Record<string, string>; named: Record<string, string> }
}

export interface ApiModel {
  entities: ModelEntity[]
  /** Whether the caller passes every rule. */
  admin: boolean
  sign_in: {
    types: (ModelLogin & { entity: string | null })[]
    providers: { name: string; label: string; start: string }[]
    passkeys: boolean
    /** What is needed to create the first admin; `null` once there is an admin. */
    first_admin: { user_type: string; password_min: number; fields: ModelField[] } | null
  }
  limits: Record<string, number>
  version: string
  declaration: string
}
