import type { HistoryEntry, UndoResult } from '../src/declare/api-types.ts'
import type { ChangedMany, SummaryItem } from './answers.ts'
import { type Asked, type Json, pathOf, sentBy } from './asked.ts'
import { pagesOf } from './listing.ts'
import { byPaths, type Following, LiveList } from './live.ts'
import type { Received, Transport } from './transport.ts'
import type { Handle, Listing, LiveOptions, LiveQuery } from './types.ts'

export type AnyHandle = Handle<Record<string, object>, string>

/** With `id`, which the calls of an Entity need. */
function chosen({ fields, ...asked }: Asked = {}, ...more: string[]): Asked {
  return fields === undefined
    ? asked
    : { ...asked, fields: [...new Set(['id', ...more, ...[fields].flat()])] }
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

  #send(method: string, rest: string | number, asked?: Asked, body?: unknown): Promise<Received> {
    return this.#transport.send(method, pathOf(this.#name, rest), sentBy(asked, body))
  }

  /** For a list that is sent, the Entities of the answer. */
  async #one(method: string, rest: string | number, asked?: Asked, sent?: unknown): Promise<AnyHandle> {
    const { body, headers } = await this.#send(method, rest, asked, sent)
    const made = (one: Json) => this.handle(one, headers.get('takeback-operation'))
    return Array.isArray(sent) ? ((body as { data: Json[] }).data.map(made) as never) : made(body as Json)
  }

  async #told<T>(method: string, rest: string | number, asked?: Asked, sent?: unknown): Promise<T> {
    return (await this.#send(method, rest, asked, sent)).body as T
  }

  create(body: unknown, options?: Asked): Promise<AnyHandle> {
    return this.#one('POST', '', options, body)
  }

  upsert(body: unknown, options: Asked): Promise<AnyHandle> {
    return this.#one('PUT', '', options, body)
  }

  get(id: number, query?: Asked): Promise<AnyHandle> {
    return this.#one('GET', id, chosen(query))
  }

  list(query?: Asked): Listing<AnyHandle> {
    return pagesOf(this.#transport, `${this.#name}/`, chosen(query), (one) => this.handle(one))
  }

  summary(query: Asked): Listing<SummaryItem> {
    return pagesOf(this.#transport, `${this.#name}/summary/`, query)
  }

  update(id: number, changes: unknown, options?: Asked): Promise<AnyHandle> {
    return this.#one('PATCH', id, options, changes)
  }

  replace(id: number, body: unknown, options?: Asked): Promise<AnyHandle> {
    return this.#one('PUT', id, options, body)
  }

  delete(id: number, options?: Asked): Promise<AnyHandle> {
    return this.#one('DELETE', id, options)
  }

  restore(id: number, options?: Asked): Promise<AnyHandle> {
    return this.#one('DELETE', id, { ...options, restore: true })
  }

  async purge(id: number, options?: Asked): Promise<void> {
    await this.#send('DELETE', id, { ...options, purge: true })
  }

  updateAll(filter: string, changes: unknown, options?: Asked): Promise<ChangedMany> {
    return this.#told('PATCH', '', { ...options, filter }, changes)
  }

  deleteAll(filter: string, options?: Asked): Promise<ChangedMany> {
    return this.#told('DELETE', '', { ...options, filter })
  }

  history(id: number, query?: Asked): Listing<HistoryEntry> {
    return pagesOf(this.#transport, `${this.#name}/${id}/history/`, query)
  }

  revert(id: number, version: number, options?: Asked): Promise<AnyHandle> {
    return this.#one('POST', `${id}/revert`, options, { version })
  }

  undo(id: number, options?: Asked): Promise<UndoResult> {
    return this.#told('POST', `${id}/undo`, options)
  }

  redo(id: number, options?: Asked): Promise<UndoResult> {
    return this.#told('POST', `${id}/redo`, options)
  }

  live(
    query: LiveQuery<object, string>,
    changed: (all: AnyHandle[]) => void,
    options: LiveOptions = {},
  ): () => void {
    const { sort = [], ...asked } = query
    const paths: string[] = [sort].flat()
    // Which of two states is newer, the version says.
    const known = chosen(asked, 'version', ...paths.map((path) => path.replace('-', '')))
    return this.follow(known, {
      ...options,
      told: (rows, _, isNew) => {
        if (isNew) changed([...rows.values()].sort(byPaths(paths)).map((one) => this.handle(one)))
      },
    })
  }

  /** What `live` and `takeback/tanstack-db` are built on. */
  follow(asked: Asked, following: Following): () => void {
    return new LiveList(this.#transport, { ...asked, entity: this.#name }, following).stop
  }
}
