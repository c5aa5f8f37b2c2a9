import type { EntityType } from '../../declare/model.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compileFilters, type Filters } from '../condition/filter.ts'
import type { Viewer } from '../viewer/viewer.ts'
import type { ExpandItem } from './expand-grammar.ts'
import { type ExpandOptions, NO_OPTIONS } from './expandable.ts'
import { ListParameters, parseLimit } from './list-parameters.ts'

/** What a viewer can use in a list of one type. */
interface TypeReader {
  readonly filters: Filters
  readonly parameters: ListParameters
}

/** An expanded path and its target type. */
export interface ExpandTarget {
  readonly path: string
  readonly type: EntityType
  readonly isList: boolean
}

/** Reads the options of expansions by the same rules as the parameters of a list of that type. */
export class ExpandOptionsReader {
  readonly #viewer: Viewer
  readonly #dialect: Dialect
  /** By type, created when it is first expanded with options. */
  readonly #readers = new Map<string, TypeReader>()

  constructor(viewer: Viewer, dialect: Dialect) {
    this.#viewer = viewer
    this.#dialect = dialect
  }

  /** `at`: the number of the filter in the request, from 1. All errors are reported at `expand`. */
  read(given: ExpandItem['options'], target: ExpandTarget, at: number, errors: Errors): ExpandOptions {
    if (given === undefined) return NO_OPTIONS
    const { path, type, isList } = target
    for (const name of isList ? [] : (['filter', 'sort', 'limit'] as const))
      if (given.has(name))
        return failed(errors, `"${path}" is a single Entity: ${name} is only for lists of Entities`)
    const own: Errors = new Map()
    const { filters, parameters } = this.#readerOf(type)
    const [filter, sort, limit, fields] = [
      given.get('filter'),
      given.get('sort'),
      given.get('limit'),
      given.get('fields'),
    ]
    const options = {
      filter: filter === undefined ? undefined : filters.parse(filter, own, { at }),
      sort: sort === undefined ? undefined : parameters.sort(sort, own, false),
      limit: limit === undefined ? undefined : parseLimit(limit, own),
      fields: fields === undefined ? undefined : parameters.fields(fields, own),
    }
    for (const [name, sentences] of own)
      for (const sentence of sentences) addError(errors, 'expand', `${name} of "${path}": ${sentence}`)
    return options
  }

  #readerOf(type: EntityType): TypeReader {
    const known = this.#readers.get(type.name)
    if (known !== undefined) return known
    const [viewer, dialect] = [this.#viewer, this.#dialect]
    const filters = compileFilters(type, viewer.scopeOf(type), dialect)
    const computed = viewer.computed(type).map(({ name }) => name)
    const parameters = new ListParameters({ type, dialect, filters, fields: viewer.seen(type), computed })
    const made = { filters, parameters }
    this.#readers.set(type.name, made)
    return made
  }
}

function failed(errors: Errors, sentence: string): ExpandOptions {
  addError(errors, 'expand', sentence)
  return NO_OPTIONS
}
