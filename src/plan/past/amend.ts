import type { Model } from '../../declare/model.ts'
import type { Bound, Dialect, Params } from '../../store/dialect.ts'
import { type Statement, sql } from '../../store/sql.ts'
import type { Step } from '../../store/step.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { lockGraphs } from '../tables/locks.ts'
import { keepAnAdmin } from '../viewer/admins.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { AmendChecks } from './amend-checks.ts'
import { AmendSteps } from './amend-steps.ts'
import { compileUnmet } from './amend-unmet.ts'
import { type AmendmentGroup, amendParams, goneName, typesOf } from './amendment.ts'
import { type Obstacle, obstacleOf } from './obstacle.ts'

export interface AmendPlan {
  /**
   * The steps of one operation that brings many Entities to given states, whole tables at a time, and their parameters.
   * `of`: the operations that it takes back. `viewer`: the one whose rules must hold.
   */
  steps(
    groups: readonly AmendmentGroup[],
    of: readonly string[],
    viewer: Viewer,
  ): { steps: Step[]; params: Params }
  /** Statements that find all obstacles in the present data, without changing anything. */
  obstacles(groups: readonly AmendmentGroup[], viewer: Viewer): Statement[]
  obstacleOf(row: readonly Bound[]): Obstacle
}

/** The steps are compiled for each type and set of columns on first use. */
export function compileAmend(model: Model, dialect: Dialect): AmendPlan {
  const cache = new ShapeCache<readonly Step[]>()
  const all = (
    name: string,
    groups: readonly AmendmentGroup[],
    make: (steps: AmendSteps) => readonly Step[],
  ) =>
    groups.flatMap((group, at) =>
      cache.of(shapeOf(name, at, group), () => make(new AmendSteps(group, at, model, dialect))),
    )
  // An undo may delete an Entity as part of an older deletion.
  const isGone = (admins: string) => sql`"id" IN ${dialect.listed(goneName(admins), 'integer')}`
  return {
    steps(groups, of, viewer) {
      const types = typesOf(groups)
      const names = types.map(({ name }) => name).join('|')
      const held = compileUnmet(groups, model, dialect)
      const steps = [
        ...cache.of(`graphs|${names}`, () => lockGraphs(types, model, dialect)),
        ...all('lock', groups, (one) => one.lock()),
        ...all(`may ${viewer.name}`, groups, (one) => one.refuseForbidden(viewer)),
        ...all('gone', groups, (one) => one.refuseGone()),
        ...held.suspect,
        ...all('park', groups, (one) => one.park()),
        ...all('clear', groups, (one) => one.keepCleared()),
        ...all('change', groups, (one) => one.change()),
        ...cache.of(`admins|${names}`, () => keepAnAdmin(types, model, dialect, isGone)),
        ...all('check', groups, (one) => one.check()),
        ...held.refuse,
        ...all('write', groups, (one) => one.writeDown()),
      ]
      return { steps, params: amendParams(groups, model, of) }
    },
    obstacles: (groups, viewer) => new AmendChecks(groups, model, dialect).all(viewer),
    obstacleOf: (row) => obstacleOf(row, model),
  }
}

function shapeOf(name: string, at: number, { type, columns, free = [] }: AmendmentGroup): string {
  return [name, at, type.name, ...columns, '', ...free].join('|')
}
