import type { Model } from '../../declare/model.ts'
import type { Bag, Bound, Dialect } from '../../store/dialect.ts'
import { type Statement, sql } from '../../store/sql.ts'
import type { Step } from '../../store/step.ts'
import { Texts } from '../condition/texts.ts'
import { inTurn } from '../tables/graph.ts'
import { keepAnAdmin } from '../viewer/admins.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { AmendChecks } from './amend-checks.ts'
import { AmendSteps } from './amend-steps.ts'
import { bagOf, goneName, type Sheaf, typesOf } from './amendment.ts'
import { type Obstacle, obstacleOf } from './obstacle.ts'

export interface AmendPlan {
  /**
   * The steps of one operation that brings many Entities to given states, whole tables at a time, and the values that
   * they bind. `of` are the operations that are thereby taken back, `viewer` who must meet the rules.
   */
  steps(sheaves: readonly Sheaf[], of: readonly string[], viewer: Viewer): { steps: Step[]; bag: Bag }
  /** All that stands against it, from the data as they are: none of it is changed for that. */
  obstacles(sheaves: readonly Sheaf[], viewer: Viewer): Statement[]
  obstacleOf(row: readonly Bound[]): Obstacle
}

/** Compiled for each type and set of columns when they are first needed. */
export function compileAmend(model: Model, dialect: Dialect): AmendPlan {
  const texts = new Texts<readonly Step[]>()
  const all = (name: string, sheaves: readonly Sheaf[], make: (steps: AmendSteps) => readonly Step[]) =>
    sheaves.flatMap((sheaf, at) =>
      texts.of(`${name}|${at}|${sheaf.type.name}|${sheaf.columns.join('|')}`, () =>
        make(new AmendSteps(sheaf, at, model, dialect)),
      ),
    )
  // What goes by an undo need not have that for its deletion.
  const isGone = (admins: string) => sql`"id" IN ${dialect.listed(goneName(admins), 'integer')}`
  return {
    steps(sheaves, of, viewer) {
      const types = typesOf(sheaves)
      const names = types.map(({ name }) => name).join('|')
      const steps = [
        ...texts.of(`turn|${names}`, () => inTurn(types, model, dialect)),
        ...all('lock', sheaves, (one) => one.lock()),
        ...all(`may ${viewer.name}`, sheaves, (one) => one.refuseForbidden(viewer)),
        ...all('gone', sheaves, (one) => one.refuseGone()),
        ...all('park', sheaves, (one) => one.park()),
        ...all('clear', sheaves, (one) => one.keepCleared()),
        ...all('change', sheaves, (one) => one.change()),
        ...texts.of(`admins|${names}`, () => keepAnAdmin(types, model, dialect, isGone)),
        ...all('check', sheaves, (one) => one.check()),
        ...all('write', sheaves, (one) => one.writeDown()),
      ]
      return { steps, bag: bagOf(sheaves, model, of) }
    },
    obstacles: (sheaves, viewer) => new AmendChecks(sheaves, model, dialect).all(viewer),
    obstacleOf: (row) => obstacleOf(row, model),
  }
}
