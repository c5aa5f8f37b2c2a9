import type {
  HistoryEntry,
  ListRequest,
  Page,
  PartId,
  UndoOptions,
  UndoResult,
  UpdateOptions,
  WriteOptions,
} from '../src/declare/api-types.ts'
import type { EntityPatch, NewEntity, SeenEntity } from '../src/declare/infer.ts'
import type {
  ChangedMany,
  ManyOptions,
  Operation,
  OperationFilter,
  OperationInFull,
  OperationQuery,
  SummaryItem,
  SummaryQuery,
} from './answers.ts'
import type { Answered, ExpandOf, KeyOf, OwnSortOf, PathOf, SortOf } from './shapes.ts'
import type { CallOptions } from './transport.ts'

/** The calls of a client, typed from the declarations. Types only. */

// Lists.

/** The options that a read and a list have in common. */
export interface GetQuery<Expand, Chosen> {
  /** References to replace by their Entities: `['room', 'room.house']`. */
  readonly expand?: readonly Expand[]
  /** Returns only these dot paths. `id` is always there. */
  readonly fields?: readonly Chosen[]
}

export interface SelectQuery<Type> extends Pick<ListRequest, 'filter' | 'search' | 'trashed' | 'at'> {
  /** Equalities by dot path: `{ 'room.id': 5 }`. A field that has the name of a parameter needs `filter`. */
  readonly where?: { readonly [Path in Exclude<KeyOf<Type>, Parameters>]?: Equal } & {
    readonly [Path in `${KeyOf<Type>}.${string}`]?: Equal
  }
}

type Parameters = Exclude<keyof ListRequest, 'where' | 'search'>
type Equal = string | number | boolean | null

export interface ListQuery<Type, Expand, Chosen>
  extends SelectQuery<Type>,
    GetQuery<Expand, Chosen>,
    Pick<ListRequest, 'limit' | 'cursor' | 'count'> {
  readonly sort?: SortOf<Type> | readonly SortOf<Type>[]
}

export interface LiveQuery<Type, Chosen> extends Pick<GetQuery<never, Chosen>, 'fields'> {
  readonly filter?: string
  /** The client sorts: `null` first, texts by UTF-16 code units. Default: by `id`. Rows have no fields of others. */
  readonly sort?: OwnSortOf<Type> | readonly OwnSortOf<Type>[]
}

export interface LiveOptions {
  readonly signal?: AbortSignal
  /** Called when the list ends for good: it may not be read, or the filter is wrong. Default: `console.error`. */
  onError?(error: unknown): void
}

/** A page, and the position at which it was read. */
export interface ListPage<Entity> extends Page<Entity> {
  /** The `Takeback-Position`, to pass to `changes` as `since`. */
  position: string | null
}

/** A list. The first page is read at once: `await` returns it. `for await` iterates over the Entities of all pages. */
export interface Listing<Entity> extends Promise<ListPage<Entity>>, AsyncIterable<Entity> {
  /** Returns the Entities of all pages. */
  all(): Promise<Entity[]>
}

// Entities.

/** The calls of an Entity that the client has returned. A field of the same name hides the call. */
export interface HandleCalls<Types, Name extends keyof Types> {
  /** The operation that wrote it; `null` if it was only read. */
  readonly operation: string | null
  update(
    changes: EntityPatch<Types[Name]>,
    options?: UpdateOptions & CallOptions,
  ): Promise<Handle<Types, Name>>
  replace(body: NewEntity<Types[Name]>, options?: WriteOptions & CallOptions): Promise<Handle<Types, Name>>
  delete(options?: WriteOptions & CallOptions): Promise<Handle<Types, Name>>
  restore(options?: RestoreOptions & CallOptions): Promise<Handle<Types, Name>>
  purge(options?: CallOptions): Promise<void>
  history(query?: PageQuery & CallOptions): Listing<HistoryEntry>
  revert(version: number, options?: WriteOptions & CallOptions): Promise<Handle<Types, Name>>
  /** Takes back its last change. */
  undo(options?: StepOptions & CallOptions): Promise<UndoResult>
  redo(options?: StepOptions & CallOptions): Promise<UndoResult>
  /** Reads it again. */
  reload(options?: CallOptions): Promise<Handle<Types, Name>>
}

/** An Entity as data, with hidden calls: JSON and `{ ...entity }` leave them out. */
export type Handle<Types, Name extends keyof Types, Shape = SeenEntity<Types[Name]>> = Shape &
  Omit<HandleCalls<Types, Name>, keyof Shape>

export type PageQuery = Pick<ListRequest, 'limit' | 'cursor'>

export interface RestoreOptions extends WriteOptions {
  /** `targets` also restores the deleted Entities that this one refers to. */
  readonly with?: 'targets'
}

/** Options for the undo of one Entity. */
export interface StepOptions extends WriteOptions, Pick<UndoOptions, 'dryRun'> {
  readonly with?: 'targets' | 'dependents' | 'targets,dependents'
  /** The `next` of a dry run. */
  readonly cursor?: string
}

/** Options for the undo of operations. */
export type TakeBackOptions = UndoOptions & Omit<StepOptions, 'version'>

/** The calls of one Entity type. */
export interface EntityClient<Types, Name extends keyof Types> {
  // Of several forms, errors are about the last one: that is the usual one.
  /** Creates a user without a password, who is mailed a link to set one. */
  create(
    body: Omit<NewEntity<Types[Name]>, 'password'>,
    options: { readonly invite: true } & CallOptions,
  ): Promise<Handle<Types, Name>>
  /** Creates all of them or none, as one operation. */
  create(
    bodies: readonly NewEntity<Types[Name]>[],
    options?: CreateOptions & CallOptions,
  ): Promise<Handle<Types, Name>[]>
  /** Creates an Entity. */
  create(body: NewEntity<Types[Name]>, options?: CreateOptions & CallOptions): Promise<Handle<Types, Name>>
  get<const Expand extends ExpandOf<Types, Name> = never, const Chosen extends PathOf<Types[Name]> = never>(
    id: number,
    query?: GetQuery<Expand, Chosen> & Pick<ListRequest, 'at'> & CallOptions,
  ): Promise<Handle<Types, Name, Answered<Types, Name, Expand, Chosen>>>
  list<const Expand extends ExpandOf<Types, Name> = never, const Chosen extends PathOf<Types[Name]> = never>(
    query?: ListQuery<Types[Name], Expand, Chosen> & CallOptions,
  ): Listing<Handle<Types, Name, Answered<Types, Name, Expand, Chosen>>>
  /** Returns counts, sums and more of what the list would return. */
  summary(query: SummaryQuery & SelectQuery<Types[Name]> & CallOptions): Listing<SummaryItem>
  /** Changes the given keys. The others stay as they are. */
  update(
    id: number,
    changes: EntityPatch<Types[Name]>,
    options?: UpdateOptions & CallOptions,
  ): Promise<Handle<Types, Name>>
  /** Replaces all values. Keys that are left out get their default, or `null`. */
  replace(
    id: number,
    body: NewEntity<Types[Name]>,
    options?: WriteOptions & CallOptions,
  ): Promise<Handle<Types, Name>>
  /** Replaces the Entities with the same unique values, or creates them: all of them or none. */
  upsert(
    bodies: readonly NewEntity<Types[Name]>[],
    options: UpsertOptions<Types[Name]> & CallOptions,
  ): Promise<Handle<Types, Name>[]>
  /** Replaces the Entity with the same unique values, or creates it. */
  upsert(
    body: NewEntity<Types[Name]>,
    options: UpsertOptions<Types[Name]> & WriteOptions & CallOptions,
  ): Promise<Handle<Types, Name>>
  delete(id: number, options?: WriteOptions & CallOptions): Promise<Handle<Types, Name>>
  /** Takes back exactly the operation that deleted the Entity. */
  restore(id: number, options?: RestoreOptions & CallOptions): Promise<Handle<Types, Name>>
  /** Erases a deleted Entity for good. */
  purge(id: number, options?: CallOptions): Promise<void>
  /** Changes all Entities that match a filter, as one operation. */
  updateAll(
    filter: string,
    changes: EntityPatch<Types[Name]>,
    options?: ManyOptions & CallOptions,
  ): Promise<ChangedMany>
  deleteAll(filter: string, options?: ManyOptions & CallOptions): Promise<ChangedMany>
  history(id: number, query?: PageQuery & CallOptions): Listing<HistoryEntry>
  /** Writes the values of an old version as a new version. */
  revert(id: number, version: number, options?: WriteOptions & CallOptions): Promise<Handle<Types, Name>>
  /** Takes back the last change of one Entity. */
  undo(id: number, options?: StepOptions & CallOptions): Promise<UndoResult>
  redo(id: number, options?: StepOptions & CallOptions): Promise<UndoResult>
  /** Calls `changed` with the whole list, now and after each change. Returns a function that ends it. */
  live<const Chosen extends PathOf<Types[Name]> = never>(
    query: LiveQuery<Types[Name], Chosen>,
    changed: (all: Handle<Types, Name, Answered<Types, Name, never, Chosen>>[]) => void,
    options?: LiveOptions,
  ): () => void
}

export interface CreateOptions {
  /** For admins: the e-mail address of a new user counts as confirmed. */
  readonly verified?: boolean
}

export interface UpsertOptions<Type> {
  /** Dot paths that are unique, alone or together: `['email']`. */
  readonly match: readonly PathOf<Type>[]
}

// Batches.

/** One write of a batch. Later parts can use it as a reference, and its `id` as an id. */
export interface Part<Result> {
  readonly id: `$${number}.id`
  /** Never set: it carries the type of the result. */
  readonly result?: Result
}

/** The writes of one Entity type in a batch. */
export interface BatchEntity<Types, Name extends keyof Types> {
  create(body: NewEntity<Types[Name], { id: PartId }>): Part<Handle<Types, Name>>
  update(
    id: PartId,
    changes: EntityPatch<Types[Name], { id: PartId }>,
    options?: UpdateOptions,
  ): Part<Handle<Types, Name>>
  replace(
    id: PartId,
    body: NewEntity<Types[Name], { id: PartId }>,
    options?: WriteOptions,
  ): Part<Handle<Types, Name>>
  upsert(
    body: NewEntity<Types[Name], { id: PartId }>,
    options: UpsertOptions<Types[Name]> & WriteOptions,
  ): Part<Handle<Types, Name>>
  delete(id: PartId, options?: WriteOptions): Part<Handle<Types, Name>>
  restore(id: PartId, options?: RestoreOptions): Part<Handle<Types, Name>>
  purge(id: PartId, options?: WriteOptions): Part<null>
}

export type BatchBuilder<Types> = { readonly [Name in keyof Types]: BatchEntity<Types, Name> }

export interface BatchAnswer<Parts> {
  /** The id of the operation; `null` if nothing was written. */
  operation: string | null
  /** The results of the parts that `build` returned, in their order. */
  results: { -readonly [At in keyof Parts]: Parts[At] extends Part<infer Result> ? Result : never }
}

// The rest.

export interface OperationsClient {
  list(query?: OperationQuery & CallOptions): Listing<Operation>
  get(id: string, query?: PageQuery & CallOptions): Promise<OperationInFull>
  /** Takes back a whole operation, by a new operation. */
  undo(id: string, options?: TakeBackOptions & CallOptions): Promise<UndoResult>
  /** Takes back an undo. */
  redo(id: string, options?: TakeBackOptions & CallOptions): Promise<UndoResult>
  /** Takes back all operations that match. */
  undoAll(
    filter: OperationFilter | { readonly operations: readonly string[] },
    options?: TakeBackOptions & CallOptions,
  ): Promise<UndoResult>
}
