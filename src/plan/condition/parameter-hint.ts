import { didYouMean } from '../../declare/closest.ts'

/** What other APIs call things, and what they are called here. */
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

/** The end of a sentence about a parameter that is not known; nothing where there is nothing to add. */
export function parameterHint(name: string, parameters: readonly string[]): string {
  const known = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined
  return known === undefined ? didYouMean(name, parameters) : `; ${known}`
}
