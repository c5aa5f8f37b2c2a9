import { type Json, type RequestOptions, requestOf } from './api-request.ts'
import type { Transport } from './transport.ts'
import type { Listing, ListPage } from './types.ts'

/** Returns a list whose items are mapped by `made`: a promise of the first page that also iterates over all pages. */
export function pagesOf<T>(
  transport: Transport,
  path: string,
  options?: RequestOptions,
  made: (one: Json) => T = (one) => one as T,
): Listing<T> {
  const read = async (from?: { cursor: string }): Promise<ListPage<T>> => {
    const { body, headers } = await transport.send('GET', path, requestOf({ ...options, ...from }))
    const page = body as ListPage<Json>
    return { ...page, data: page.data.map(made), position: headers.get('takeback-position') }
  }
  const first = read()
  return Object.assign(first, {
    async *[Symbol.asyncIterator](): AsyncIterator<T> {
      let page = await first
      yield* page.data
      while (page.next) {
        page = await read({ cursor: page.next })
        yield* page.data
      }
    },

    async all(this: Listing<T>): Promise<T[]> {
      const all: T[] = []
      for await (const one of this) all.push(one)
      return all
    },
  })
}
