import { type EntityType, type Model, walk } from '../declare/model.ts'
import { isSecret, type Values } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { compileHistory, type HistoryPlan } from './past/history.ts'
import { compileErase, type ErasePlan } from './past/purge.ts'
import { compileSeals, type SealsPlan } from './past/seals.ts'
import { compileTrash, type TrashPlan } from './past/trash.ts'
import { compileLogin, type LoginPlan } from './read/login.ts'
import { compileRemovals, type RemovePlan } from './remove/remove.ts'
import { bodyColumns, compileBinder } from './tables/columns.ts'
import { type Legacy, noLegacy } from './tables/graph.ts'
import { compileView, type View } from './view/view.ts'
import type { Viewing } from './view/viewing.ts'
import type { Actor } from './viewer/actor.ts'
import { type Viewer, viewersOf } from './viewer/viewer.ts'

/** All that is compiled from the Model for one Entity type, before the first request. */
export interface Plan {
  readonly type: EntityType
  /** What an actor sees of it, and may do with it. */
  view(actor: Actor): PlanView
  bind(values: Values, params: Params): void
  /** The dot paths of any JSON, which a PATCH merges into. */
  readonly documents: readonly string[]
  /** The dot paths of secret columns, whose values are hashed before they are bound. */
  readonly secrets: readonly string[]
  /** Columns that failed a check are taken out, so that the rest can still be looked at. */
  withoutFaulty(params: Params, errors: Errors): Params
  readonly history: HistoryPlan
  readonly trash: TrashPlan
  readonly erase: ErasePlan
  /** Undefined where there are no secrets. */
  readonly seals: SealsPlan | undefined
  readonly login: LoginPlan | undefined
}

/** The same through the eyes of some: what they may do depends on the Entity, and stands in the statements. */
export interface PlanView extends View {
  readonly removals: RemovePlan
}

export type Plans = ReadonlyMap<string, Plan>

/** Everything that requests run, made before the first of them. */
export function compilePlans(model: Model, dialect: Dialect, legacy: Legacy = noLegacy): Plans {
  const viewers = viewersOf(model)
  const plans = [...model.entities.values()].map((type): [string, Plan] => {
    // Viewers of keys come and go: their views go with them.
    const views = new WeakMap<Viewer, PlanView>()
    const viewOf = (viewer: Viewer): PlanView => {
      const known = views.get(viewer)
      if (known !== undefined) return known
      const made = compileFor({ viewer, type, model, legacy, dialect })
      views.set(viewer, made)
      return made
    }
    // Those who may do nothing with it are only ever refused: theirs is made if one of them comes.
    for (const viewer of viewers.all) if (viewer.mayAny(type)) viewOf(viewer)
    const view = (actor: Actor) => viewOf(viewers.of(actor))
    const erase = compileErase(type, model, legacy, dialect)
    return [type.name, { ...compilePlan(type, dialect, view, type.name === model.admins), erase }]
  })
  return new Map(plans)
}

/** Any member of a login type: all of them see it alike. */
function asMember({ name }: EntityType, admin: boolean): Actor {
  return { kind: 'user', entity: name, id: 0, admin }
}

function compileFor(viewing: Viewing): PlanView {
  const view = compileView(viewing)
  return Object.freeze({ ...view, removals: compileRemovals({ ...viewing, view }) })
}

function compilePlan(
  type: EntityType,
  dialect: Dialect,
  view: Plan['view'],
  admin: boolean,
): Omit<Plan, 'erase'> {
  const columns = bodyColumns(type.fields).map(({ name }) => name)
  return Object.freeze({
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
    login:
      type.login === undefined ? undefined : compileLogin(type, dialect, view(asMember(type, admin)).shown),
  })
}
