import { no } from '../../declare/cel/expression.ts'
import {
  type EntityType,
  type Field,
  isPointing,
  type Model,
  type Reverse,
  reversesOf,
  walk,
} from '../../declare/model.ts'
import { dottedPath } from '../../declare/values.ts'
import type { Params } from '../../store/dialect.ts'
import type { Filter } from '../condition/filter.ts'
import type { SortKey } from '../condition/query.ts'
import type { Viewer } from '../viewer/viewer.ts'

/** The expanded paths: the dot path of a reference, or the name of a reverse reference. */
export type Expansion = ReadonlyMap<string, Expanded>

/** One expanded path: how its Entities are chosen and shown, and what is expanded in them. */
export interface Expanded {
  readonly options: ExpandOptions
  readonly inner: Expansion
}

/** Options that are not in the request are undefined. Only lists have `filter`, `sort` and `limit`. */
export interface ExpandOptions {
  readonly filter: Filter | undefined
  readonly sort: readonly SortKey[] | undefined
  readonly limit: number | undefined
  readonly fields: ReadonlySet<string> | undefined
}

export const NO_OPTIONS: ExpandOptions = Object.freeze({
  filter: undefined,
  sort: undefined,
  limit: undefined,
  fields: undefined,
})

/** Binds the values of all filters in an expansion. */
export function bindExpansion(expansion: Expansion | undefined, params: Params): void {
  for (const { options, inner } of expansion?.values() ?? []) {
    Object.assign(params, options.filter?.params)
    bindExpansion(inner, params)
  }
}

/** Everything that the SQL of an expansion depends on. */
export function expansionShape(expansion: Expansion): string {
  return [...expansion]
    .map(([name, { options, inner }]) => {
      const { filter, sort, limit, fields } = options
      const all = [filter?.shape, sort && sortShape(sort), limit, fields && [...fields].join(',')]
      return `${name}{${all.map((one) => one ?? '').join(';')}}(${expansionShape(inner)})`
    })
    .join(',')
}

export function sortShape(sort: readonly SortKey[]): string {
  return sort.map(({ by, descending }) => `${descending ? '-' : '+'}${by.path}`).join(',')
}

/** What a viewer can expand: references that they see, and reverse references, to types that they can read. */
export class Expandable {
  readonly #viewer: Viewer
  readonly #model: Model

  constructor(viewer: Viewer, model: Model) {
    this.#viewer = viewer
    this.#model = model
  }

  /** The reverse references of a type: references of other types to it. */
  reverses({ name }: EntityType): Reverse[] {
    return reversesOf(this.#model, name).filter(
      ({ from, field }) => this.#viewer.mayField(from, field.path, 'read') !== no,
    )
  }

  /** The type that a path leads to; undefined if the path cannot be expanded. */
  target(type: EntityType, path: string): EntityType | undefined {
    const field = [...walk(this.#viewer.seen(type))].find((one) => expandPath(one) === path)
    const target =
      field !== undefined && isPointing(field)
        ? this.#model.entities.get(field.target)
        : this.reverses(type).find(({ name }) => name === path)?.from
    return target !== undefined && this.#viewer.visibility.reaches(target) ? target : undefined
  }

  paths(type: EntityType): string[] {
    return [...walk(this.#viewer.seen(type))]
      .map(expandPath)
      .concat(this.reverses(type).map(({ name }) => name))
      .filter((path) => this.target(type, path) !== undefined)
  }

  /** Takes the longest prefix of the names that can be expanded: its path, its target, and the remaining names. */
  hop(type: EntityType, names: readonly string[]): ExpansionHop | undefined {
    for (let length = names.length; length > 0; length--) {
      const path = names.slice(0, length).join('.')
      const target = this.target(type, path)
      if (target !== undefined) return { path, target, rest: names.slice(length) }
    }
    return undefined
  }
}

interface ExpansionHop {
  readonly path: string
  readonly target: EntityType
  readonly rest: readonly string[]
}

/** The field that a path expands. */
export function fieldAt({ fields }: EntityType, path: string): Field | undefined {
  return [...walk(fields)].find((one) => expandPath(one) === path)
}

/** The name of a field in `expand`. In a list of objects, the reference of the items is expanded. */
export function expandPath(field: Field): string {
  return field.kind === 'links' ? dottedPath(field.path, field.member) : field.path
}
