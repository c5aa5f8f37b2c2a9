/** What `GET /api/model/` answers: what the caller may know of the declaration. Nothing here runs. */

/** `some`: it depends on the Entity and its values. */
export type Possible = boolean | 'some'

export interface ModelItem {
  /** As it is declared: `text`, `email`, `url`, `choice`, `integer`, `ref`, `list`, `object` … */
  type: string
  label: string | null
  description: string | null
  /** Must be sent with a create. */
  required: boolean
  nullable: boolean
  /** Of texts, characters; of lists, items; of decimals, as texts. */
  min?: number | string
  max?: number | string
  pattern?: string
  choices?: string[]
  /** Digits behind the point, of decimals. */
  scale?: number
  unique?: boolean
  search?: boolean
  fold?: boolean
  sort?: 'fold'
  example?: unknown
  /** Of references: the type, or `null` if the caller may not know it. */
  to?: string | null
  on_delete?: 'restrict' | 'cascade' | 'clear'
  as?: string
  /** Of lists of objects with a reference: its name in the items. */
  member?: string
  /** Of objects. */
  fields?: ModelField[]
  /** Of lists. */
  items?: ModelItem
}

export interface ModelField extends ModelItem {
  /** The dot path; in the items of a list, it begins in the item. */
  path: string
  name: string
  default?: unknown
  /** What the server sets if it is not sent. */
  provided?: 'me' | 'now' | 'server'
  computed?: true
  /** Of computed fields, for admins. */
  expression?: string
  /** The caller can never set it. Not there in the items of lists, as all that follows. */
  read_only?: boolean
  may?: { read: Possible; create: Possible; update: Possible }
  /** By its path; of a reference, by the `id`. */
  sortable?: boolean
  filterable?: boolean
  /** For admins. */
  rules?: { read?: string; write?: string }
}

export interface ModelLogin {
  user_type: string
  login_with: string
  verify: boolean
  second: 'none' | 'optional' | 'required'
  /** Anybody may create an account. */
  sign_up: boolean
  password_min: number
}

export interface ModelEntity {
  name: string
  label: string | null
  description: string | null
  /** The dot path of the text that names an Entity. */
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
  /** For admins. */
  rules?: { access: Record<string, string>; named: Record<string, string> }
}

export interface ApiModel {
  entities: ModelEntity[]
  /** The caller passes every rule. */
  admin: boolean
  sign_in: {
    types: (ModelLogin & { entity: string | null })[]
    providers: { name: string; label: string; start: string }[]
    passkeys: boolean
    /** What the account of the first admin needs; `null` once there is an admin. */
    first_admin: { user_type: string; password_min: number; fields: ModelField[] } | null
  }
  limits: Record<string, number>
  version: string
  declaration: string
}
