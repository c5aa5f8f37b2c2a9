import { budget } from '../../budget.ts'
import { type EntityType, walk } from '../../declare/model.ts'
import { wordsOf } from '../../declare/words.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { and, id, intLiteral, join, param, type Sql, sql } from '../../store/sql.ts'
import { wordsColumn } from '../../store/tables.ts'
import type { Comparable } from '../condition/query.ts'

/** In a sort, the rank of a search result. No dot path has this name. */
export const RANK = '~rank'
export const ranked: Comparable = {
  path: RANK,
  kind: 'integer',
  scale: 0,
  choices: undefined,
  value: { op: 'value', kind: 'integer', scale: 0, place: { root: { of: 'self' }, hops: [], column: RANK } },
}

/** The search in the declared fields of one Entity type. The SQL depends only on the number of words. */
export interface SearchPlan {
  /** The dot paths that are searched. */
  readonly paths: readonly string[]
  /** The words of a query parameter; undefined, with an error, if there are none or too many. */
  parse(text: string, errors: Errors): readonly string[] | undefined
  /** That each word is in one of the searched fields. The last one may be the beginning of a word. */
  condition(words: readonly string[]): Sql
  /** The rank of a row: an integer, the same on every database. */
  rank(words: readonly string[]): Sql
  bind(words: readonly string[], params: Params): void
}

const QUERY = '$search'
/** Parameters: each word with spaces around it, and the last one with a space before it only. */
const wholeName = (at: number) => `$whole ${at}`
const BEGUN = '$begun'

/** Added to the rank if the last word occurs as a whole word: more than everything else together. */
const WHOLE = 1_000_000_000
const UNIT = 1_000_000
/** Added to the length of a text, so that very short texts do not always come first. */
const LEAST_LENGTH = 100

/** `sees`: whether the caller sees a searched path in every Entity. Undefined if they see none, or none is searched. */
export function compileSearch(
  type: EntityType,
  dialect: Dialect,
  sees: (path: string) => boolean,
): SearchPlan | undefined {
  const all = searchedPaths(type)
  const paths = all.filter(sees)
  if (paths.length === 0) return undefined
  const columns = all.map(wordsColumn)
  return {
    paths,
    parse(text, errors) {
      const words = [...wordsOf(text)]
      const last = words.pop()
      if (last === undefined) return addError(errors, 'search', 'must contain a letter or a digit')
      const found = [...new Set(words), last]
      return found.length > budget.searchWords
        ? addError(errors, 'search', `must have at most ${budget.searchWords} words`)
        : found
    },
    condition(words) {
      const found = dialect.search.found(type.name, columns, param(QUERY))
      if (paths.length === all.length) return found
      // All fields share one index. A hit in a field that the viewer does not see must not count.
      const each = marksOf(words).map((mark) => foundIn(paths.map(searchedText), mark))
      return and([found, ...each])
    },
    rank: (words) => rankOf(words, paths.map(searchedText)),
    bind(words, params) {
      params[QUERY] = dialect.search.query(words)
      for (const [at, word] of words.entries()) params[wholeName(at)] = ` ${word} `
      params[BEGUN] = ` ${words.at(-1)}`
    },
  }
}

export function searchedPaths({ fields }: EntityType): string[] {
  return [...walk(fields)].flatMap((field) => (field.kind === 'value' && field.search ? [field.path] : []))
}

function searchedText(path: string): Sql {
  return sql`coalesce(t.${id(wordsColumn(path))}, '')`
}

/** The parameter of each word. */
function marksOf(words: readonly string[]): Sql[] {
  return words.map((_, at) => param(at < words.length - 1 ? wholeName(at) : BEGUN))
}

function foundIn(texts: readonly Sql[], mark: Sql): Sql {
  const found = texts.map((text) => sql`replace(${text}, ${mark}, '') <> ${text}`)
  return found.length === 0 ? sql`1 = 0` : sql`(${join(found, sql` OR `)})`
}

/**
 * The number of hits relative to the length of the text, added up over the fields. A whole word counts twice; the last
 * word counts once if it is only the beginning of another. Rows with the last word as a whole come first. All numbers
 * are integers, so that databases cannot round differently.
 */
function rankOf(words: readonly string[], texts: readonly Sql[]): Sql {
  if (texts.length === 0) return sql`0`
  const last = words.length - 1
  const ofText = (text: Sql) => {
    const times = (mark: Sql) =>
      sql`CAST(length(${text}) - length(replace(${text}, ${mark}, '')) AS bigint) / length(${mark})`
    const hits = words.map((_, at) =>
      at < last
        ? sql`2 * (${times(param(wholeName(at)))})`
        : sql`${times(param(wholeName(at)))} + ${times(param(BEGUN))}`,
    )
    return sql`(${join(hits, sql` + `)}) * ${intLiteral(UNIT)} / (length(${text}) + ${intLiteral(LEAST_LENGTH)})`
  }
  const whole = foundIn(texts, param(wholeName(last)))
  return sql`(CASE WHEN ${whole} THEN ${intLiteral(WHOLE)} ELSE 0 END + ${join(texts.map(ofText), sql` + `)})`
}
