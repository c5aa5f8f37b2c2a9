import { budget } from '../../budget.ts'
import { asksReferrers } from '../../declare/cel/expression.ts'
import { withId } from '../../declare/indexes.ts'
import type { EntityType, Field } from '../../declare/model.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Bound, Dialect } from '../../store/dialect.ts'
import { type Filters, NOT_OF_THE_PAST } from '../condition/filter.ts'
import {
  bindJson,
  openCursor,
  readablePaths,
  type SortKey,
  type SortName,
  signatureOf,
} from '../condition/query.ts'
import { DELETION } from '../past/trash.ts'

/** What a viewer can use of a type: conditions, and the fields that they can see in some Entities. */
interface Readable {
  readonly type: EntityType
  readonly dialect: Dialect
  readonly filters: Filters
  readonly fields: readonly Field[]
  readonly computed: readonly string[] | undefined
}

/** Reads the parameters `sort`, `fields` and `cursor` of a list, and writes its cursors. */
export class ListParameters {
  readonly #type: EntityType
  readonly #dialect: Dialect
  readonly #filters: Filters
  readonly #readable: ReadonlySet<string>

  constructor({ type, dialect, filters, fields, computed }: Readable) {
    this.#type = type
    this.#dialect = dialect
    this.#filters = filters
    this.#readable = readablePaths(fields, computed)
  }

  /** The sort by id alone. */
  byId(descending: boolean): SortKey[] {
    const by = this.#filters.comparable('id')
    return by === undefined ? [] : [{ by, descending }]
  }

  /** Parses `?sort=status,-starts_at`. `past`: a list with `at` has fewer sort keys. */
  sort(text: string, errors: Errors, past: boolean): readonly SortKey[] {
    const parts = text.split(',')
    if (parts.length > budget.sortKeys) {
      addError(errors, 'sort', `names more than ${budget.sortKeys} values`)
      return this.byId(false)
    }
    const keys = parts.flatMap((part) => this.#sortKey(part, errors))
    if (new Set(keys.map(({ by }) => by.path)).size < keys.length)
      addError(errors, 'sort', 'names a value twice')
    if (past && keys.some(({ by }) => asksReferrers(by.value))) addError(errors, 'sort', NOT_OF_THE_PAST)
    return withId(
      keys,
      ({ by }) => by.path === 'id',
      (descending) => this.byId(descending),
    )
  }

  #sortKey(part: string, errors: Errors): SortKey[] {
    const descending = part.startsWith('-')
    const path = descending ? part.slice(1) : part
    const by = this.#filters.sortable(path)
    if (by !== undefined) return [{ by, descending }]
    addError(
      errors,
      'sort',
      () => `"${path}" is not a value of ${this.#type.name} that can be sorted by${this.#sortHint(path)}`,
    )
    return []
  }

  /** A hint for the syntax of others: `title desc`, `title:asc` or `+title`, whose `+` is a space in a URL. */
  #sortHint(path: string): string {
    const [, name = '', way = ''] = /^[ +]?([\w.]+)(?:[ :]+(asc|desc))?$/i.exec(path) ?? []
    const [, sized] = /^size\(([\w.]+)\)$/.exec(path) ?? []
    if (sized !== undefined) return this.#filters.hint(sized).replace(/"(.*)"/, '"size($1)"')
    if (this.#filters.comparable(name) === undefined) return this.#filters.hint(path)
    return `: write ${way.toLowerCase() === 'desc' ? '-' : ''}${name}`
  }

  /** Parses `?fields=title,room`. `trashed`: whether the list has deleted Entities, which have `deletion`. */
  fields(text: string, errors: Errors, trashed = false): ReadonlySet<string> {
    const chosen = new Set(text.split(','))
    for (const path of chosen)
      if (path === DELETION && !trashed) addError(errors, 'fields', `"${path}" is only there with trashed`)
      else if (path !== DELETION && !this.#readable.has(path))
        addError(
          errors,
          'fields',
          () => `"${path}" is not a field of ${this.#type.name}${this.#filters.hint(path)}`,
        )
    return chosen
  }

  /** The sort values in a cursor; undefined for the beginning, or with an error if it is of another list or sort. */
  cursor(text: string, sort: readonly SortKey[], errors: Errors): Bound[] | undefined {
    const values = openCursor(text, signatureOf(this.#type, sort))
    // The cursor of an expansion without room for any Entity: the list starts at the beginning.
    if (values?.length === 0) return undefined
    const bound = values?.map((value, at) => {
      const by = sort[at]?.by
      return by === undefined ? undefined : bindJson(value, by, this.#dialect)
    })
    if (bound?.length === sort.length && !bound.includes(undefined)) return bound as Bound[]
    return addError(errors, 'cursor', 'is not a cursor of this list with this sort')
  }

  /** How many groups a cursor skips; undefined, with an error, if it is of other groups or another sort. */
  skipped(text: string, sort: readonly SortName[], errors: Errors): number | undefined {
    const [count] = openCursor(text, signatureOf(this.#type, sort)) ?? []
    if (Number.isSafeInteger(count) && Number(count) >= 0) return Number(count)
    return addError(errors, 'cursor', 'is not a cursor of this summary with this sort')
  }

  /** The cursor after these sort values, given as JSON. */
  cursorAt(sort: readonly SortName[], values: string): string {
    return Buffer.from(`${signatureOf(this.#type, sort)}${values}`).toString('base64url')
  }
}

/** The length of a page; undefined, with an error, if it is invalid. */
export function parseLimit(text: string, errors: Errors): number | undefined {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= budget.pageEntities) return limit
  return addError(errors, 'limit', `must be a whole number from 1 to ${budget.pageEntities}`)
}
