import { budget } from '../../budget.ts'
import { didYouMean } from '../../declare/closest.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import { type Errors, note } from '../../errors.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { Sql } from '../../store/sql.ts'
import type { Shown } from '../tables/render.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { allotmentOf } from './allotment.ts'
import { Expandable, type Expansion, fieldAt } from './expandable.ts'
import { ExpandedJson, type ShownTo } from './expanded-json.ts'

export interface Expansions {
  /** `?expand=customer,customer.company` */
  parse(text: string, errors: Errors): Expansion
  /** What is shown of an Entity with its expansions. `row` gives its columns, `rows` says how many rows there can be. */
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
  const json = new ExpandedJson(expandable, dialect, shownTo)
  return {
    parse(text, errors) {
      const root: Tree = new Map()
      const paths = text.split(',')
      if (paths.length > budget.expandPaths)
        note(errors, 'expand', `names more than ${budget.expandPaths} paths`)
      else for (const path of paths) graft(root, hopsOf(path, start, expandable, errors))
      return root
    },
    shown(type, expansion, row, rows) {
      const depth = listsIn(type, expansion, expandable)
      const allotment = allotmentOf({ rows, paths: countPaths(expansion), depth })
      return json.shown(type, expansion, row, { depth: 0, lists: 0, allotment })
    },
  }
}

/** An Expansion under construction. */
type Tree = Map<string, Tree>

function graft(root: Tree, hops: readonly string[]): void {
  let here = root
  for (const hop of hops) {
    const next: Tree = here.get(hop) ?? new Map()
    here.set(hop, next)
    here = next
  }
}

/** The references along a path. Stops with a note where the path leads nowhere, or is too long. */
function hopsOf(path: string, start: EntityType, expandable: Expandable, errors: Errors): string[] {
  const hops: string[] = []
  let type = start
  let names: readonly string[] = path.split('.')
  while (names.length > 0) {
    const hop = expandable.hop(type, names)
    if (hop === undefined || hops.length === budget.expandDepth) {
      const [at, left] = [type, names]
      note(errors, 'expand', () =>
        hop === undefined
          ? `"${path}" is not a reference of ${at.name}${didYouMean(left.join('.'), expandable.paths(at))}`
          : `"${path}" is more than ${budget.expandDepth} away`,
      )
      break
    }
    hops.push(hop.path)
    type = hop.target
    names = hop.rest
  }
  return hops
}

/** The largest number of lists along one path. */
function listsIn(type: EntityType, expansion: Expansion, expandable: Expandable): number {
  const each = [...expansion].map(([path, inner]) => {
    const target = expandable.target(type, path)
    const behind = target === undefined ? 0 : listsIn(target, inner, expandable)
    return behind + (fieldAt(type, path)?.kind === 'reference' ? 0 : 1)
  })
  return Math.max(0, ...each)
}

function countPaths(expansion: Expansion): number {
  return [...expansion.values()].reduce((all, inner) => all + 1 + countPaths(inner), 0)
}
