import type { CollectionConfig, PendingMutation } from '@tanstack/db'
import type { Json } from '../client/api-request.ts'
import type { Client } from '../client/client.ts'
import type { Row } from '../client/live.ts'
import type { NewEntity, SeenEntity } from '../src/declare/infer.ts'
import { Follower, QUEUED } from './follower.ts'
import { type OfflineOptions, WriteQueue } from './queue.ts'
import { differenceOf, type QueuedPart } from './queued-write.ts'

export type { QueueStore } from './queue-store.ts'
export type { QueuedPart, QueuedWrite } from './queued-write.ts'
export type { OfflineOptions }

// biome-ignore lint/suspicious/noExplicitAny: where the types are not known, anything goes.
type Anything = any

type TypeIn<Config, Name> = Config extends { readonly entities: infer Types }
  ? Name extends keyof Types
    ? Types[Name]
    : never
  : unknown
type NameIn<Config> = Config extends { readonly entities: infer Types } ? keyof Types & string : string

/** A row of a collection. */
export type RowOf<Config, Name> = unknown extends Config
  ? Record<string, Anything> & { id: number }
  : SeenEntity<TypeIn<Config, Name>>
/** The values that `insert` takes. */
export type NewRowOf<Config, Name> = unknown extends Config
  ? Record<string, Anything>
  : NewEntity<TypeIn<Config, Name>>

/** Makes a row of the values given to `insert`. It checks nothing: the server does. */
export interface RowSchema<Input, Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'takeback'
    validate(value: unknown): { readonly value: Output }
    readonly types?: { readonly input: Input; readonly output: Output }
  }
}

export interface CollectionUtils {
  /** Returns the real id of a new row, once the server has given it one; any other id as it is. */
  idOf(id: number): number
  readonly [name: string]: Anything
}

export interface TakebackOptions<Config, Name> {
  readonly api: Client<Config>
  readonly entity: Name
  /** Only the rows that match a filter (CEL). */
  readonly filter?: string
  /** Values that a new row has, besides those given to `insert`, until the server answers. */
  readonly defaults?: Partial<RowOf<Config, Name>>
  /** Stores writes that get no answer, and sends them later. Collections that refer to each other share one queue. */
  readonly offline?: OfflineQueue
  /** Called when the live list ends for good: it may not be read, or the filter is wrong. Default: `console.error`. */
  onError?(error: unknown): void
}

/** Options for `createCollection`. */
export type TakebackCollection<Input extends object, Output extends object> = Omit<
  CollectionConfig<Output, number, RowSchema<Input, Output>, CollectionUtils>,
  'utils'
> & { readonly schema: RowSchema<Input, Output>; readonly utils: CollectionUtils }

/** A queue of writes that wait for the network. */
export type OfflineQueue = Pick<WriteQueue, 'pending' | 'retry' | 'close'>

/** Creates a queue that keeps writes when the page is reloaded. */
export function offlineQueue(api: object, options: OfflineOptions): OfflineQueue {
  return new WriteQueue(api, options)
}

const followers = new WeakMap<object, Follower>()
const queues = new WeakMap<object, WriteQueue>()

/** Returns the one queue of a client's collections: rows of one may refer to new rows of another. */
function queueOf(api: object): WriteQueue {
  const queue = queues.get(api) ?? new WriteQueue(api, undefined)
  queues.set(api, queue)
  return queue
}

/** Returns options for a collection of TanStack DB: a live list of one Entity type, with optimistic writes. */
export function takebackCollection<Config, Name extends NameIn<Config>>(
  options: TakebackOptions<Config, Name>,
): TakebackCollection<NewRowOf<Config, Name>, RowOf<Config, Name>> {
  const { api, entity, filter, defaults, offline, onError = console.error } = options
  const queue = (offline as WriteQueue | undefined) ?? queueOf(api)
  const follower = new Follower(api, queue, { entity, onError, ...(filter !== undefined && { filter }) })
  const utils: CollectionUtils = { idOf: queue.idOf }
  followers.set(utils, follower)
  const made = {
    id: `takeback ${entity} ${filter ?? ''} ${count++}`,
    getKey: ({ id }: Row) => id,
    schema: { '~standard': { version: 1, vendor: 'takeback', validate: rowsWith(defaults) } },
    sync: { sync: (sync: Parameters<Follower['follow']>[0]) => follower.follow(sync), rowUpdateMode: 'full' },
    onInsert: writeTogether,
    onUpdate: writeTogether,
    onDelete: writeTogether,
    utils,
  }
  return made as never
}

let count = 0

/** Validates rows. A row with a version exists already; a new one gets a temporary, negative id. */
function rowsWith(defaults: object | undefined): (value: unknown) => { value: object } {
  return (value) => {
    const given = value as Json
    if (given.version !== undefined) return { value: given }
    const now = new Date().toISOString()
    const keys = { version: 0, created_at: now, updated_at: now, deleted_at: null }
    return { value: { id: temporaryId(), ...keys, ...defaults, ...given } }
  }
}

function temporaryId(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2))
  return -1 - ((high % 2 ** 20) * 2 ** 32 + low)
}

/**
 * Sends all mutations of a transaction as one operation: all or none. Resolves when the feed has shown it. The
 * `metadata` of the transaction then has the id of the operation.
 * `createTransaction({ mutationFn: writeTogether })`
 */
export async function writeTogether({
  transaction,
}: {
  readonly transaction: {
    readonly mutations: readonly PendingMutation<Anything, Anything, Anything>[]
    readonly metadata: Record<string, unknown>
  }
}): Promise<void> {
  const { mutations } = transaction
  const concerned = new Map<Follower, PendingMutation[]>()
  for (const mutation of mutations) {
    const follower = followers.get(mutation.collection.utils)
    if (follower === undefined)
      throw new Error('All collections of the transaction must be those of Takeback.')
    concerned.set(follower, [...(concerned.get(follower) ?? []), mutation])
  }
  const [first, ...others] = [...concerned.keys()]
  if (first === undefined) return
  if (others.some(({ queue }) => queue !== first.queue))
    throw new Error(
      'All collections of the transaction must have the same client and the same offline queue, or none.',
    )
  const queued = queuedIn(mutations, first) ?? first.queue.add(mutations.flatMap(partOf))
  const named = queued.answered.then(({ operation }) => {
    transaction.metadata.operation = operation
  })
  await Promise.all([
    named,
    ...[...concerned].map(([follower, own]) =>
      follower.settle(
        queued,
        own.some(({ type }) => type === 'insert'),
      ),
    ),
  ])
}

/** Returns the queued write that the mutations show, if there is one. */
function queuedIn(mutations: readonly PendingMutation[], { queue }: Follower) {
  const metadata = mutations[0]?.metadata
  return typeof metadata === 'object' && metadata !== null && QUEUED in metadata
    ? queue.find(String(metadata[QUEUED]))
    : undefined
}

/** The keys that only the server sets. */
const SERVER_KEYS = ['id', 'version', 'created_at', 'updated_at', 'deleted_at']

function partOf({ type, key, original, modified, changes, collection }: PendingMutation): QueuedPart[] {
  const entity = followers.get(collection.utils)?.followed.entity ?? ''
  const row = { entity, id: Number(key) }
  if (type === 'delete') return [{ ...row, type }]
  if (type === 'insert') {
    const sent = Object.entries(changes).filter(([name]) => !SERVER_KEYS.includes(name))
    return [{ ...row, type, body: Object.fromEntries(sent) }]
  }
  const difference = differenceOf(original as Json, modified as Json)
  if (difference === undefined) return []
  const { version } = original as Row
  // A row that is not created yet has no version. It gets the version of the answer.
  return [{ ...row, type, ...difference, ...(version > 0 && { base: version }) }]
}
