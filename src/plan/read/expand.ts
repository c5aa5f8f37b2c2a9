import { budget } from '../../budget.ts'
import { didYouMean } from '../../declare/closest.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { Sql } from '../../store/sql.ts'
import { Conditions } from '../condition/condition.ts'
import type { Shown } from '../tables/render.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { type ExpandItem, parseItems } from './expand-grammar.ts'
import { ExpandOptionsReader } from './expand-options.ts'
import { Expandable, type ExpandOptions, type Expansion, fieldAt, NO_OPTIONS } from './expandable.ts'
import { ExpandedJson, type ShownTo } from './expanded-json.ts'
import { expansionBudgetOf } from './expansion-budget.ts'

export interface Expansions {
  /** Parses `?expand=customer(fields=name),customer.company`. */
  parse(text: string, errors: Errors): Expansion
  /** What is shown of an Entity with its expansions. `row`: its columns. `rows`: the maximum number of rows. */
  shown(type: EntityType, expansion: Expansion, row: (column: string) => Sql, rows: number): Shown
}

interface Expanding {
  readonly type: EntityType
  readonly viewer: Viewer
  readonly model: Model
  readonly dialect: Dialect
  readonly shownTo: ShownTo
}

export function compileExpansions({ type: start, viewer, model, dialect, shownTo }: Expanding): Expansions {
  const expandable = new Expandable(viewer, model)
  const options = new ExpandOptionsReader(viewer, dialect)
  const conditions = new Conditions(model, dialect, viewer)
  const json = new ExpandedJson({ expandable, dialect, shownTo, conditions })
  return {
    parse(text, errors) {
      const root: Tree = new Map()
      new ExpandReader(expandable, options, errors).read(text, { type: start, depth: 0, inside: root })
      return root
    },
    shown(type, expansion, row, rows) {
      const depth = listsIn(type, expansion, expandable)
      const expansionBudget = expansionBudgetOf({ rows, paths: countPaths(expansion), depth })
      return json.shown(type, expansion, row, { depth: 0, lists: 0, expansionBudget })
    },
  }
}

/** An Expansion under construction. */
type Tree = Map<string, { options: ExpandOptions; readonly inner: Tree }>

/** Where a text of `expand` applies: in a type, and how many references away from the listed Entities. */
interface ExpandPlace {
  readonly type: EntityType
  readonly depth: number
  readonly inside: Tree
}

/** Reads the `expand` of one request. All errors are reported. */
class ExpandReader {
  readonly #expandable: Expandable
  readonly #options: ExpandOptionsReader
  readonly #errors: Errors
  #paths = 0
  #filters = 0

  constructor(expandable: Expandable, options: ExpandOptionsReader, errors: Errors) {
    this.#expandable = expandable
    this.#options = options
    this.#errors = errors
  }

  read(text: string, place: ExpandPlace): void {
    const items = parseItems(text, this.#errors)
    this.#paths += items.length
    if (this.#paths > budget.expandPaths)
      addError(this.#errors, 'expand', `names more than ${budget.expandPaths} paths`)
    else for (const item of items) this.#readItem(item, place)
  }

  #readItem({ path, options: given }: ExpandItem, place: ExpandPlace): void {
    const hops = this.#hopsOf(path, place)
    const last = hops?.at(-1)
    if (hops === undefined || last === undefined) return
    let [inside, node] = [place.inside, undefined as ReturnType<Tree['get']>]
    for (const hop of hops) {
      node = inside.get(hop.path) ?? { options: NO_OPTIONS, inner: new Map() }
      inside.set(hop.path, node)
      inside = node.inner
    }
    if (given === undefined || node === undefined) return
    if (node.options !== NO_OPTIONS) addError(this.#errors, 'expand', `"${path}" has options more than once`)
    if (given.has('filter')) this.#filters++
    const field = fieldAt(last.from, last.path)
    const isList = field?.kind !== 'reference' && !(field?.kind === 'links' && field.item !== undefined)
    node.options = this.#options.read(given, { path, type: last.target, isList }, this.#filters, this.#errors)
    const further = given.get('expand')
    if (further !== undefined)
      this.read(further, { type: last.target, depth: place.depth + hops.length, inside })
  }

  /** A hint as the end of a sentence: a reference inside of what was named, or one with a similar name. */
  #hintAt(type: EntityType, path: string): string {
    const paths = this.#expandable.paths(type)
    const inside = paths.find((one) => one.startsWith(`${path}.`))
    return inside === undefined ? didYouMean(path, paths) : `; did you mean "${inside}"?`
  }

  /** The references along a path. Undefined, with an error, if the path leads nowhere or is too long. */
  #hopsOf(path: string, { type: start, depth }: ExpandPlace): PathHop[] | undefined {
    const hops: PathHop[] = []
    let type = start
    let names: readonly string[] = path.split('.')
    while (names.length > 0) {
      const hop = this.#expandable.hop(type, names)
      const [at, left] = [type, names]
      if (hop === undefined)
        return addError(
          this.#errors,
          'expand',
          () => `"${path}" is not a reference of ${at.name}${this.#hintAt(at, left.join('.'))}`,
        )
      if (depth + hops.length === budget.expandDepth)
        return addError(this.#errors, 'expand', `"${path}" is more than ${budget.expandDepth} away`)
      hops.push({ from: type, path: hop.path, target: hop.target })
      type = hop.target
      names = hop.rest
    }
    return hops
  }
}

/** One reference along a path. */
interface PathHop {
  readonly from: EntityType
  readonly path: string
  readonly target: EntityType
}

/** The largest number of lists along one path. */
function listsIn(type: EntityType, expansion: Expansion, expandable: Expandable): number {
  const each = [...expansion].map(([path, { inner }]) => {
    const target = expandable.target(type, path)
    const inside = target === undefined ? 0 : listsIn(target, inner, expandable)
    return inside + (fieldAt(type, path)?.kind === 'reference' ? 0 : 1)
  })
  return Math.max(0, ...each)
}

function countPaths(expansion: Expansion): number {
  return [...expansion.values()].reduce((all, { inner }) => all + 1 + countPaths(inner), 0)
}
