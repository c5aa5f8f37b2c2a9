import type { EntityKeys, EntityPatch, NewEntity, SeenEntity, WholeEntity } from './infer.ts'

/**
 * The API as code calls it, typed from the declarations. Nothing here runs. The methods are those of the HTTP API, with
 * the same checks and the same errors: each rejects with an `ApiError`.
 */

/** The options of a list. */
export interface ListRequest {
  /** A condition in CEL: `guests >= 3 && status == "open"`. */
  readonly filter?: string
  /** Equalities by dot path: `{ 'room.id': 5 }`. */
  readonly where?: Readonly<Record<string, string | number | boolean | null>>
  /** Words to search for. */
  readonly search?: string
  /** Dot paths, `-` for descending: `-starts_at,id`, or a list of them. */
  readonly sort?: string | readonly string[]
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly cursor?: string
  /** Whether to count all matching Entities. */
  readonly count?: boolean
  /** References to replace with their Entities: `customer,customer.company`, or a list of them. */
  readonly expand?: string | readonly string[]
  /** Only these dot paths: `id,title`, or a list of them. The others are missing, whatever the type says. */
  readonly fields?: string | readonly string[]
  readonly trashed?: 'only' | 'with'
  /** A time: returns the data as it was then. */
  readonly at?: string
}

export type GetRequest = Pick<ListRequest, 'expand' | 'fields' | 'at'>

export interface Page<Entity> {
  data: Entity[]
  next: string | null
  /** Only with `count`. */
  total?: number
}

export interface WriteOptions {
  /** The version that the Entity must have. If it has another one by now, the write is refused with `stale`. */
  readonly version?: number
}

export interface UpdateOptions extends WriteOptions {
  /** The version that the changes start from. Only if others changed the same fields since: `changed_meanwhile`. */
  readonly base?: number
}

/** What happened to an Entity. */
export interface HistoryEntry {
  version: number
  kind: string
  at: string
  actor: string | null
  operation: string
  changed: Record<string, { from: unknown; to: unknown }> | null
}

/** The calls of one Entity type. */
export interface EntityApi<Type, Entity> {
  /** All of them or none, as one operation. */
  create(bodies: readonly NewEntity<Type>[]): Promise<Entity[]>
  // Of several forms, errors are about the last one: that is the usual one.
  create(body: NewEntity<Type>): Promise<Entity>
  get(id: number, options?: GetRequest): Promise<Entity>
  list(options?: ListRequest): Promise<Page<Entity>>
  /** Keys that are left out keep their values. */
  update(id: number, changes: EntityPatch<Type>, options?: UpdateOptions): Promise<Entity>
  delete(id: number, options?: WriteOptions): Promise<Entity>
  /** Takes back exactly the operation that deleted it. */
  restore(id: number): Promise<Entity>
  /** Erases a deleted Entity for good. */
  purge(id: number): Promise<void>
  history(id: number, options?: Pick<ListRequest, 'limit' | 'cursor'>): Promise<Page<HistoryEntry>>
}

/** In a batch: an id, or `$2.id` for the id that an earlier part gets, by the place of that part. */
export type PartId = number | `$${number}.id`

/** One write of a batch. */
export type BatchWrite<Types> = {
  [Name in keyof Types]:
    | { readonly create: Name; readonly body: NewEntity<Types[Name], { id: PartId }> }
    | {
        readonly update: Name
        readonly id: PartId
        readonly body: EntityPatch<Types[Name], { id: PartId }>
        readonly version?: number
      }
    | { readonly delete: Name; readonly id: PartId; readonly version?: number }
    | { readonly restore: Name; readonly id: PartId }
}[keyof Types]

/** The result of a batch: its operation, and the Entity of each part. */
export interface BatchResult {
  operation: string | null
  results: LooseEntity[]
}

export interface UndoOptions {
  readonly dryRun?: boolean
  /** Skips conflicts and takes back the rest. */
  readonly skipConflicts?: boolean
  /** Also takes back what reactions wrote because of the operation. */
  readonly withEffects?: boolean
}

/** What an undo changed, or would change. */
export interface UndoResult {
  operation: string | null
  undone: number
  total: number
  changes: { entity: string; id: number; kind: string; changed: Record<string, unknown> }[]
  skipped: Record<string, string[]>
  /** What reactions wrote because of the operation. */
  effects?: { operation: string; at: string; actor: string | null; changes: number }[]
}

export interface OperationsApi {
  undo(id: string, options?: UndoOptions): Promise<UndoResult>
}

interface Shared<Types> {
  readonly operations: OperationsApi
  /** All of them or none, as one operation. */
  batch(parts: readonly BatchWrite<Types>[]): Promise<BatchResult>
}

type Collections<Types, Hides extends boolean> = {
  readonly [Name in keyof Types]: EntityApi<
    Types[Name],
    Hides extends true ? SeenEntity<Types[Name]> : WholeEntity<Types[Name]>
  >
}

/** The API for a caller who passes every rule. */
export type SystemApi<Types> = Collections<Types, false> & Shared<Types>

/** The API with the caller's rights; `system` is the same with the rights of the server. */
export type Api<Types> = Collections<Types, true> & Shared<Types> & { readonly system: SystemApi<Types> }

// For code that does not know the other types.

// biome-ignore lint/suspicious/noExplicitAny: it can be anything, and must be usable without a cast.
type Anything = any

/** An Entity of an unknown type. */
export type LooseEntity = EntityKeys & { [field: string]: Anything }

/** The API without known types. Its calls have the same names. */
export interface LooseSystemApi {
  readonly operations: OperationsApi
  batch(parts: readonly Anything[]): Promise<BatchResult>
  /** The calls of an Entity type, by its name. */
  readonly [entity: string]: Anything
}
export interface LooseApi extends LooseSystemApi {
  readonly system: LooseSystemApi
}

/** A user of an unknown login type. */
export type LooseUser = LooseEntity & { type: string; email: string }
