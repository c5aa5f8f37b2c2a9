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

/** How to find Entities of another type from the Entity that a condition is about. */
export type DependencyPath =
  /** By following references of the Entity. */
  | { readonly kind: 'references'; readonly hops: readonly Hop[] }
  /** By a reference to the Entity, in this column or list. `member`: its name in the list's items, if objects. */
  | { readonly kind: 'referrers'; readonly column: string; readonly member: string }
  /** Unknown: any Entity may depend on any of them. */
  | { readonly kind: 'any' }

/** Another type that a condition reads. */
export interface Dependency {
  readonly type: string
  readonly path: DependencyPath
  /** Only changes of these columns matter; undefined means all. */
  readonly columns: Set<string> | undefined
}

/** The path to the Entity that a condition is about; undefined if it cannot be found by references. */
type Base = readonly Hop[] | undefined

/**
 * The Entities that conditions read besides the row itself. If one of them changes, the result may change. A filter
 * reads more than it names, because hidden data does not count: pass its viewer.
 */
export class Dependencies {
  readonly #model: Model
  readonly #found = new Map<string, Dependency>()
  /** The columns of the caller that are read. */
  readonly mine = new Set<string>()
  usesMe = false
  /** Whether `fold()` is used: the journal has no folded texts. */
  folds = false

  constructor(model: Model) {
    this.#model = model
  }

  get found(): readonly Dependency[] {
    return [...this.#found.values()]
  }

  /** Adds everything that an expression about an Entity of a type reads. */
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
      this.#addDependency(hop.to, at === undefined ? { kind: 'any' } : { kind: 'references', hops: at }, used)
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
    this.#addDependency(from.name, isOwn ? { kind: 'referrers', column, member } : { kind: 'any' })
    if (viewer === undefined) return
    this.#rule(viewer.may(from, 'read'), from, undefined)
    for (const path of new Set([column, referrers.path])) this.#guard(from, path, viewer, undefined)
  }

  /** Adds the rule that decides whether the viewer sees a column. */
  #guard(type: EntityType, column: string, viewer: Viewer | undefined, base: Base): void {
    if (viewer !== undefined) this.#rule(columnRule(viewer, type, column), type, base)
  }

  /** Adds a rule. It has no viewer, since rules see everything. */
  #rule(rule: Expression, type: EntityType, base: Base): void {
    if (rule !== yes && rule !== no) this.add(rule, type, undefined, base)
  }

  #addDependency(type: string, path: DependencyPath, column?: string): void {
    const key = `${type} ${JSON.stringify(path)}`
    const known = this.#found.get(key)
    const columns = path.kind === 'references' ? (known?.columns ?? new Set<string>()) : undefined
    if (column !== undefined) columns?.add(column)
    if (known === undefined) this.#found.set(key, { type, path, columns })
  }
}
