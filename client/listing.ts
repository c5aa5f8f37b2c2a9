import { type Asked, type Json, sentBy } from './asked.ts'
import type { Transport } from './transport.ts'
import type { Listing, ListPage } from './types.ts'

type ReadPage<T> = (cursor: string | undefined) => Promise<ListPage<T>>

/** A list that is read when it is asked for. */
export class Pages<T> implements Listing<T> {
  readonly #read: ReadPage<T>

  constructor(read: ReadPage<T>) {
    this.#read = read
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` gives the first page.
  then<A = ListPage<T>, B = never>(
    done?: ((page: ListPage<T>) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#read(undefined).then(done, failed)
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    let cursor: string | undefined
    do {
      const { data, next } = await this.#read(cursor)
      yield* data
      cursor = next ?? undefined
    } while (cursor !== undefined)
  }

  async all(): Promise<T[]> {
    const all: T[] = []
    for await (const one of this) all.push(one)
    return all
  }
}

/** A list at a path, of whatever `made` makes of its items. */
export function pagesOf<T>(
  transport: Transport,
  path: string,
  asked: Asked = {},
  made: (one: Json) => T = (one) => one as T,
): Pages<T> {
  return new Pages(async (cursor) => {
    const sent = sentBy(cursor === undefined ? asked : { ...asked, cursor })
    const { body, headers } = await transport.send('GET', path, sent)
    const page = body as ListPage<Json>
    return { ...page, data: page.data.map(made), position: headers.get('takeback-position') }
  })
}
