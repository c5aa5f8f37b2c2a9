import { didYouMean } from '../../declare/closest.ts'

/** Parameter names of other APIs, and what to use here instead. */
const elsewhere: Readonly<Record<string, string>> = {
  page: 'for the next page, send next of this one as cursor',
  offset: 'for the next page, send next of this one as cursor',
  skip: 'for the next page, send next of this one as cursor',
  search: 'none of its fields is searched: declare one with search: true',
  q: 'use search to find words',
  query: 'use search to find words',
  order: 'use sort for the order',
  order_by: 'use sort for the order',
  sort_by: 'use sort for the order',
  direction: 'use sort, with - before a path for descending order',
  page_size: 'use limit for the size of a page',
  per_page: 'use limit for the size of a page',
  include: 'use expand to return referenced Entities',
  populate: 'use expand to return referenced Entities',
  select: 'use fields to choose what is returned',
  where: 'use filter for conditions',
}

/** A hint about an unknown parameter, as the end of a sentence; empty if there is none. */
export function parameterHint(name: string, parameters: readonly string[]): string {
  const known = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined
  return known === undefined ? didYouMean(name, parameters) : `; ${known}`
}
