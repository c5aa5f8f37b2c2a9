import { type EntityType, type Model, walk } from '../declare/model.ts'
import { isSecret, type Values } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { rowOf } from './condition/row-source.ts'
import { compileHistory, type HistoryPlan } from './past/history.ts'
import { compileErase, type ErasePlan } from './past/purge.ts'
import { compileSeals, type SealsPlan } from './past/seals.ts'
import { compileTrash, type TrashPlan } from './past/trash.ts'
import { compileLogin, type LoginPlan } from './read/login.ts'
import { compileRemovals, onFirstUse, type RemovePlan } from './remove/remove.ts'
import { bodyColumns, compileBinder } from './tables/columns.ts'
import { type Legacy, noLegacy } from './tables/graph.ts'
import type { Shown } from './tables/render.ts'
import { RuleSql } from './view/rule-sql.ts'
import { compileView, type View } from './view/view.ts'
import type { ViewInput } from './view/view-input.ts'
import type { Actor } from './viewer/actor.ts'
import { type Viewer, type Viewers, viewersOf } from './viewer/viewer.ts'

/** Everything that is compiled from the Model for one Entity type. */
export interface Plan {
  readonly type: EntityType
  /** What an actor sees of it and may do with it. Compiled once for all actors with the same Viewer. */
  view(actor: Actor): PlanView
  bind(values: Values, params: Params): void
  /** The dot paths of JSON fields, which a PATCH merges into. */
  readonly documents: readonly string[]
  /** The dot paths of secret columns, whose values are hashed before they are bound. */
  readonly secrets: readonly string[]
  /** Leaves out columns that failed a check, so that the others can still be examined. */
  withoutFaulty(params: Params, errors: Errors): Params
  readonly history: HistoryPlan
  readonly trash: TrashPlan
  readonly erase: ErasePlan
  /** Undefined if the type has no secrets. */
  readonly seals: SealsPlan | undefined
  readonly login: LoginPlan | undefined
}

/** A Plan for one Viewer. Rules that depend on the Entity are part of the statements. */
export interface PlanView extends View {
  readonly removals: RemovePlan
}

export type Plans = ReadonlyMap<string, Plan>

/**
 * Compiles everything that requests run. Views are a third of the work of a start, and many are never used: each is
 * compiled for the first request that needs it. That cannot fail, since `resolve` has refused every wrong declaration.
 */
export function compilePlans(model: Model, dialect: Dialect, legacy: Legacy = noLegacy): Plans {
  const viewers = viewersOf(model)
  const plans = [...model.entities.values()].map((type): [string, Plan] => {
    // Viewers of keys come and go, and so do their views.
    const views = new WeakMap<Viewer, PlanView>()
    const viewOf = (viewer: Viewer): PlanView => {
      const known = views.get(viewer)
      if (known !== undefined) return known
      const made = compileFor({ viewer, type, model, legacy, dialect })
      views.set(viewer, made)
      return made
    }
    const plan = compilePlan(type, dialect, (actor) => viewOf(viewers.of(actor)))
    const erase = compileErase(type, model, legacy, dialect)
    const login = type.login && compileLogin(type, dialect, shownToSelf(type, model, viewers, dialect))
    return [type.name, Object.freeze({ ...plan, erase, login })]
  })
  return new Map(plans)
}

/** What members of a login type see of themselves. It is the same for all of them. */
function shownToSelf(type: EntityType, model: Model, viewers: Viewers, dialect: Dialect): Shown {
  const member: Actor = { kind: 'user', entity: type.name, id: 0, admin: type.name === model.admins }
  return new RuleSql(viewers.of(member), model, dialect).shownTo(type, rowOf(type).self).shown
}

/** Removals are most of the work of a view, and few viewers delete: they are compiled on first use. */
function compileFor(input: ViewInput): PlanView {
  const view = compileView(input)
  const removals = onFirstUse(() => compileRemovals({ ...input, view }))
  return Object.freeze({
    ...view,
    get removals() {
      return removals()
    },
  })
}

function compilePlan(type: EntityType, dialect: Dialect, view: Plan['view']): Omit<Plan, 'erase' | 'login'> {
  const columns = bodyColumns(type.fields).map(({ name }) => name)
  return {
    type,
    view,
    bind: compileBinder(type.fields, dialect),
    documents: [...walk(type.fields)]
      .filter((field) => field.kind === 'value' && field.type === 'json')
      .map(({ path }) => path),
    secrets: [...walk(type.fields)].filter(isSecret).map(({ path }) => path),
    withoutFaulty(params: Params, errors: Errors) {
      const faulty = (name: string) => errors.has(name) || params[name] === undefined
      return Object.fromEntries(
        columns.filter((name) => !faulty(name)).map((name) => [name, params[name] ?? null]),
      )
    },
    history: compileHistory(type, dialect),
    trash: compileTrash(type, dialect),
    seals: compileSeals(type, dialect),
  }
}
