import type { HistoryEntry, UndoResult } from '../src/declare/api-types.ts'
import type { ChangedMany, SummaryItem } from './answers.ts'
import { type Asked, type Json, sentBy } from './asked.ts'
import { pagesOf } from './listing.ts'
import { byPaths, type Following, followList } from './live.ts'
import type { Received, Sent, Transport } from './transport.ts'
import type { Handle, Listing, LiveOptions, LiveQuery } from './types.ts'

export type AnyHandle = Handle<Record<string, object>, string>

/** With `id`, which the calls of an Entity need. */
function chosen({ fields, ...asked }: Asked): Asked {
  return fields === undefined ? asked : { ...asked, fields: [...new Set(['id', ...[fields].flat()])] }
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
  handle = (data: Json, operation: string | null = null): AnyHandle => {
    const made = Object.assign(Object.create(this.#calls), data)
    if (operation !== null && !Object.hasOwn(data, 'operation'))
      Object.defineProperty(made, 'operation', { value: operation })
    return made
  }

  #send(method: string, rest: string | number, sent: Sent): Promise<Received> {
    return this.#transport.send(method, `${this.#name}/${rest === '' ? '' : `${rest}/`}`, sent)
  }

  async #one(method: string, rest: string | number, sent: Sent): Promise<AnyHandle> {
    const { body, headers } = await this.#send(method, rest, sent)
    return this.handle(body as Json, headers.get('takeback-operation'))
  }

  async #oneOrMany(method: string, body: unknown, asked?: Asked): Promise<AnyHandle | AnyHandle[]> {
    const answer = await this.#send(method, '', sentBy(asked, body))
    const operation = answer.headers.get('takeback-operation')
    return Array.isArray(body)
      ? (answer.body as { data: Json[] }).data.map((one) => this.handle(one, operation))
      : this.handle(answer.body as Json, operation)
  }

  async #told<T>(method: string, rest: string | number, sent: Sent): Promise<T> {
    return (await this.#send(method, rest, sent)).body as T
  }

  create(body: unknown, options?: Asked): Promise<AnyHandle | AnyHandle[]> {
    return this.#oneOrMany('POST', body, options)
  }

  upsert(body: unknown, options: Asked): Promise<AnyHandle | AnyHandle[]> {
    return this.#oneOrMany('PUT', body, options)
  }

  get(id: number, query: Asked = {}): Promise<AnyHandle> {
    return this.#one('GET', id, sentBy(chosen(query)))
  }

  list(query: Asked = {}): Listing<AnyHandle> {
    return pagesOf(this.#transport, `${this.#name}/`, chosen(query), (one) => this.handle(one))
  }

  summary(query: Asked): Listing<SummaryItem> {
    return pagesOf(this.#transport, `${this.#name}/summary/`, query)
  }

  update(id: number, changes: unknown, options?: Asked): Promise<AnyHandle> {
    return this.#one('PATCH', id, sentBy(options, changes))
  }

  replace(id: number, body: unknown, options?: Asked): Promise<AnyHandle> {
    return this.#one('PUT', id, sentBy(options, body))
  }

  delete(id: number, options?: Asked): Promise<AnyHandle> {
    return this.#one('DELETE', id, sentBy(options))
  }

  restore(id: number, options?: Asked): Promise<AnyHandle> {
    return this.#one('DELETE', id, sentBy({ ...options, restore: true }))
  }

  async purge(id: number, options?: Asked): Promise<void> {
    await this.#send('DELETE', id, sentBy({ ...options, purge: true }))
  }

  updateAll(filter: string, changes: unknown, options?: Asked): Promise<ChangedMany> {
    return this.#told('PATCH', '', sentBy({ ...options, filter }, changes))
  }

  deleteAll(filter: string, options?: Asked): Promise<ChangedMany> {
    return this.#told('DELETE', '', sentBy({ ...options, filter }))
  }

  history(id: number, query?: Asked): Listing<HistoryEntry> {
    return pagesOf(this.#transport, `${this.#name}/${id}/history/`, query)
  }

  revert(id: number, version: number, options?: Asked): Promise<AnyHandle> {
    return this.#one('POST', `${id}/revert`, sentBy(options, { version }))
  }

  undo(id: number, options?: Asked): Promise<UndoResult> {
    return this.#told('POST', `${id}/undo`, sentBy(options))
  }

  redo(id: number, options?: Asked): Promise<UndoResult> {
    return this.#told('POST', `${id}/redo`, sentBy(options))
  }

  live(
    query: LiveQuery<object, string>,
    changed: (all: AnyHandle[]) => void,
    options: LiveOptions = {},
  ): () => void {
    const { sort = 'id', ...asked } = query
    const { fields } = asked
    // Which of two states is the newer one, its version says.
    const known: Asked = chosen(
      fields === undefined ? asked : { ...asked, fields: [fields, 'version'].flat() },
    )
    return this.follow(known, {
      ...options,
      told: (rows, _, isNew) => {
        if (isNew) changed([...rows.values()].sort(byPaths([sort].flat())).map((one) => this.handle(one)))
      },
    })
  }

  /** What `live` and `takeback/tanstack-db` are built on. */
  follow(asked: Asked, following: Following): () => void {
    return followList(this.#transport, { name: this.#name, asked }, following)
  }
}
