import type { HistoryEntry, UndoResult } from '../src/declare/api-types.ts'
import type { ChangedMany, SummaryItem } from './answers.ts'
import { type Json, pathOf, type RequestOptions, requestOf } from './api-request.ts'
import { pagesOf } from './listing.ts'
import { byPaths, type Following, LiveList } from './live.ts'
import type { ApiResponse, Transport } from './transport.ts'
import type { Handle, Listing, LiveOptions, LiveQuery } from './types.ts'

export type AnyHandle = Handle<Record<string, object>, string>

/** With `id`, which the calls of an Entity need. */
function withFields({ fields, ...options }: RequestOptions = {}, ...more: string[]): RequestOptions {
  return fields ? { ...options, fields: [...new Set(['id', ...more, ...[fields].flat()])] } : options
}

/** What an Entity can do that was returned. */
const HANDLED = [
  'update',
  'replace',
  'delete',
  'restore',
  'purge',
  'history',
  'revert',
  'undo',
  'redo',
] as const

/** The calls of one Entity type. */
export class EntityCalls {
  readonly #transport: Transport
  readonly #name: string
  readonly #calls: object

  constructor(transport: Transport, name: string) {
    this.#transport = transport
    this.#name = name
    const calls: Json = { operation: null, reload: this.#ofHandle('get') }
    for (const call of HANDLED) calls[call] = this.#ofHandle(call)
    this.#calls = calls
  }

  #ofHandle(call: 'get' | (typeof HANDLED)[number]) {
    const run = this[call].bind(this) as (...given: unknown[]) => unknown
    return function (this: { id: number }, ...given: unknown[]) {
      return run(this.id, ...given)
    }
  }

  /** The data, with calls behind it that nobody sees. */
  handle = (data: Json, operation?: string | null): AnyHandle => {
    const made = Object.assign(Object.create(this.#calls), data)
    if (operation && !('operation' in data)) Object.defineProperty(made, 'operation', { value: operation })
    return made
  }

  #send(
    method: string,
    rest: string | number,
    options?: RequestOptions,
    body?: unknown,
  ): Promise<ApiResponse> {
    return this.#transport.send(method, pathOf(this.#name, rest), requestOf(options, body))
  }

  /** For a list that is sent, the Entities of the answer. */
  async #one(
    method: string,
    rest: string | number,
    options?: RequestOptions,
    sent?: unknown,
  ): Promise<AnyHandle> {
    const { body, headers } = await this.#send(method, rest, options, sent)
    const made = (one: Json) => this.handle(one, headers.get('takeback-operation'))
    if (!Array.isArray(sent)) return made(body as Json)
    // A repeated answer has no body if it was about Entities that are purged by now.
    return ((body as { data: Json[] } | undefined)?.data ?? []).map(made) as never
  }

  async #body<T>(
    method: string,
    rest: string | number,
    options?: RequestOptions,
    sent?: unknown,
  ): Promise<T> {
    return (await this.#send(method, rest, options, sent)).body as T
  }

  create(body: unknown, options?: RequestOptions): Promise<AnyHandle> {
    return this.#one('POST', '', options, body)
  }

  upsert(body: unknown, options: RequestOptions): Promise<AnyHandle> {
    return this.#one('PUT', '', options, body)
  }

  get(id: number, query?: RequestOptions): Promise<AnyHandle> {
    return this.#one('GET', id, withFields(query))
  }

  list(query?: RequestOptions): Listing<AnyHandle> {
    return pagesOf(this.#transport, `${this.#name}/`, withFields(query), (one) => this.handle(one))
  }

  summary(query: RequestOptions): Listing<SummaryItem> {
    return pagesOf(this.#transport, `${this.#name}/summary/`, query)
  }

  update(id: number, changes: unknown, options?: RequestOptions): Promise<AnyHandle> {
    return this.#one('PATCH', id, options, changes)
  }

  replace(id: number, body: unknown, options?: RequestOptions): Promise<AnyHandle> {
    return this.#one('PUT', id, options, body)
  }

  delete(id: number, options?: RequestOptions): Promise<AnyHandle> {
    return this.#one('DELETE', id, options)
  }

  restore(id: number, options?: RequestOptions): Promise<AnyHandle> {
    return this.#one('DELETE', id, { ...options, restore: true })
  }

  async purge(id: number, options?: RequestOptions): Promise<void> {
    await this.#send('DELETE', id, { ...options, purge: true })
  }

  updateAll(filter: string, changes: unknown, options?: RequestOptions): Promise<ChangedMany> {
    return this.#body('PATCH', '', { ...options, filter }, changes)
  }

  deleteAll(filter: string, options?: RequestOptions): Promise<ChangedMany> {
    return this.#body('DELETE', '', { ...options, filter })
  }

  history(id: number, query?: RequestOptions): Listing<HistoryEntry> {
    return pagesOf(this.#transport, `${this.#name}/${id}/history/`, query)
  }

  revert(id: number, version: number, options?: RequestOptions): Promise<AnyHandle> {
    return this.#one('POST', `${id}/revert`, options, { version })
  }

  undo(id: number, options?: RequestOptions): Promise<UndoResult> {
    return this.#body('POST', `${id}/undo`, options)
  }

  redo(id: number, options?: RequestOptions): Promise<UndoResult> {
    return this.#body('POST', `${id}/redo`, options)
  }

  live(
    query: LiveQuery<object, string>,
    changed: (all: AnyHandle[]) => void,
    options: LiveOptions = {},
  ): () => void {
    const { sort = [], ...rest } = query
    const paths: string[] = [sort].flat()
    // Which of two states is newer, the version says.
    const known = withFields(rest, 'version', ...paths.map((path) => path.replace('-', '')))
    return this.follow(known, {
      ...options,
      told: (rows, _, isNew) => {
        if (isNew) changed([...rows.values()].sort(byPaths(paths)).map((one) => this.handle(one)))
      },
    })
  }

  /** What `live` and `takeback/tanstack-db` are built on. */
  follow(options: RequestOptions, following: Following): () => void {
    return new LiveList(this.#transport, { ...options, entity: this.#name }, following).stop
  }
}
