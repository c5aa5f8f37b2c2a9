import {
  type Expression,
  type Hop,
  type ListPlace,
  no,
  operandsOf,
  type Place,
  referrersOf,
  yes,
} from '../../declare/cel/expression.ts'
import { unfoldedColumn } from '../../declare/folded-column.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import { columnRule, type Viewer } from '../viewer/viewer.ts'

/** How Entities of another type are found from the Entity that a condition is about. */
export type Way =
  /** Along references of it. */
  | { readonly kind: 'references'; readonly hops: readonly Hop[] }
  /** They refer to it, by this column or by a list at this path. `member`: the name of the reference in its items, if they are objects. */
  | { readonly kind: 'referrers'; readonly column: string; readonly member: string }
  /** Otherwise: any Entity may depend on any of them. */
  | { readonly kind: 'any' }

/** A type whose Entities a condition looks at, besides the one that it is about. */
export interface Dependency {
  readonly type: string
  readonly way: Way
  /** Only changes of these columns matter; undefined: all of them. */
  readonly columns: Set<string> | undefined
}

/** The place of the Entity that a condition is about: behind so many references, or somewhere else. */
type Base = readonly Hop[] | undefined

/**
 * What conditions look at besides the row at hand: if one of these Entities changes, they may come to something else. A
 * filter reaches more than it names, since what the viewer does not see does not count: pass the viewer.
 */
export class Dependencies {
  readonly #model: Model
  readonly #found = new Map<string, Dependency>()
  /** Columns of the caller. */
  readonly mine = new Set<string>()
  usesMe = false
  /** Whether they use `fold()`: the journal has no folded texts. */
  folds = false

  constructor(model: Model) {
    this.#model = model
  }

  get found(): readonly Dependency[] {
    return [...this.#found.values()]
  }

  /** Adds what an expression about an Entity of a type reaches. */
  add(expression: Expression, type: EntityType, viewer?: Viewer, base: Base = []): void {
    if (expression.op === 'value' || expression.op === 'there')
      this.#place(expression.place, type, viewer, base)
    const list =
      'list' in expression
        ? expression.list
        : expression.op === 'size' && !('op' in expression.of)
          ? expression.of
          : undefined
    if (list !== undefined) this.#list(list, type, viewer, base)
    for (const part of operandsOf(expression)) this.add(part, type, viewer, base)
  }

  #place({ root, hops, column }: Place, type: EntityType, viewer: Viewer | undefined, base: Base): void {
    this.folds ||= column !== unfoldedColumn(column)
    if (root.of === 'me') {
      this.usesMe = true
      if (hops.length > 0 || column !== 'id') this.mine.add(hops[0]?.column ?? column)
    }
    const isOwn = root.of === 'self' || root.of === 'next'
    let at = isOwn ? base : undefined
    if (isOwn) this.#guard(type, hops[0]?.column ?? column, viewer, at)
    for (const [place, hop] of hops.entries()) {
      at = at === undefined ? undefined : [...at, hop]
      const target = this.#model.entities.get(hop.to)
      if (target === undefined) continue
      const used = hops[place + 1]?.column ?? column
      this.#note(hop.to, at === undefined ? { kind: 'any' } : { kind: 'references', hops: at }, used)
      if (viewer !== undefined) this.#rule(viewer.may(target, 'read'), target, at)
      this.#guard(target, used, viewer, at)
    }
  }

  #list(list: ListPlace, type: EntityType, viewer: Viewer | undefined, base: Base): void {
    const { place } = list
    this.#place(place, type, viewer, base)
    const referrers = referrersOf(list)
    const from = this.#model.entities.get(referrers?.from ?? '')
    if (referrers === undefined || from === undefined) return
    const isOwn = place.root.of === 'self' && place.hops.length === 0 && base?.length === 0
    const column = referrers.links === undefined ? referrers.column : referrers.path
    const edge = this.#model.edges.find((one) => one.from === from.name && one.path === referrers.path)
    const member = edge?.list?.member ?? ''
    this.#note(from.name, isOwn ? { kind: 'referrers', column, member } : { kind: 'any' })
    if (viewer === undefined) return
    this.#rule(viewer.may(from, 'read'), from, undefined)
    for (const path of new Set([column, referrers.path])) this.#guard(from, path, viewer, undefined)
  }

  /** What a viewer sees of a column may depend on a rule. */
  #guard(type: EntityType, column: string, viewer: Viewer | undefined, base: Base): void {
    if (viewer !== undefined) this.#rule(columnRule(viewer, type, column), type, base)
  }

  /** Rules see everything. */
  #rule(rule: Expression, type: EntityType, base: Base): void {
    if (rule !== yes && rule !== no) this.add(rule, type, undefined, base)
  }

  #note(type: string, way: Way, column?: string): void {
    const key = `${type} ${JSON.stringify(way)}`
    const known = this.#found.get(key)
    const columns = way.kind === 'references' ? (known?.columns ?? new Set<string>()) : undefined
    if (column !== undefined) columns?.add(column)
    if (known === undefined) this.#found.set(key, { type, way, columns })
  }
}
