import { didYouMean } from '../../declare/closest.ts'

/** Parameter names of other APIs, and what to use here instead. */
const elsewhere: Readonly<Record<string, string>> = {
  page: 'pages go on with cursor, which takes next of the page before',
  offset: 'pages go on with cursor, which takes next of the page before',
  skip: 'pages go on with cursor, which takes next of the page before',
  search: 'nothing of it is searched: that takes a field with search: true',
  q: 'words are looked for with search',
  query: 'words are looked for with search',
  order: 'the order is given by sort',
  order_by: 'the order is given by sort',
  sort_by: 'the order is given by sort',
  direction: 'a - before a path of sort turns its order round',
  page_size: 'the length of a page is given by limit',
  per_page: 'the length of a page is given by limit',
  include: 'references are followed by expand',
  populate: 'references are followed by expand',
  select: 'the fields that come back are given by fields',
  where: 'conditions are given by filter',
}

/** A hint about an unknown parameter, as the end of a sentence; empty if there is none. */
export function parameterHint(name: string, parameters: readonly string[]): string {
  const known = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined
  return known === undefined ? didYouMean(name, parameters) : `; ${known}`
}
