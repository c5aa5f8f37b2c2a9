import { type EntityType, type Model, walk } from '../declare/model.ts'
import { isSecret, type Mode, objectCheck, type Values } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import type { Bag, Dialect } from '../store/dialect.ts'
import { bodyColumns, compileBinder, ownColumns } from './columns.ts'
import { type Legacy, noLegacy } from './graph.ts'
import { compileHistory, type HistoryPlan } from './history.ts'
import { compileLists, type ListPlan } from './list.ts'
import { compileLogin, type LoginPlan } from './login.ts'
import { compileRemovals, type RemovePlan } from './remove.ts'
import { compileRules, type Permissions } from './rule.ts'
import { compileTrash, type TrashPlan } from './trash.ts'
import { compileWrites, type WritePlan } from './write.ts'

/** All that is compiled from the Model for one Entity type, before the first request. */
export interface Plan {
  readonly type: EntityType
  readonly may: Permissions
  /** All that is wrong with a body goes into `errors`; what comes back is whole only where that stays empty. */
  check(mode: Mode, body: unknown, errors: Errors): Values
  bind(values: Values, bag: Bag): void
  /** The dot paths of any JSON, which a PATCH merges into. */
  readonly documents: readonly string[]
  /** The dot paths of secret columns, whose values are hashed before they are bound. */
  readonly secrets: readonly string[]
  /** Columns of a bag that failed a check are taken out, so that the rest can still be looked at. */
  withoutFaulty(bag: Bag, errors: Errors): Bag
  readonly writes: WritePlan
  readonly removals: RemovePlan
  readonly lists: ListPlan
  readonly history: HistoryPlan
  readonly trash: TrashPlan
  readonly login: LoginPlan | undefined
}

export type Plans = ReadonlyMap<string, Plan>

/** Everything that requests run, made before the first of them. */
export function compilePlans(model: Model, dialect: Dialect, legacy: Legacy = noLegacy): Plans {
  return new Map(
    [...model.entities.values()].map((type) => [type.name, compilePlan(type, model, legacy, dialect)]),
  )
}

function compilePlan(type: EntityType, model: Model, legacy: Legacy, dialect: Dialect): Plan {
  const checks = {
    whole: check(type, 'whole'),
    replace: check(type, 'replace'),
    partial: check(type, 'partial'),
  }
  const columns = bodyColumns(type.fields).map(({ name }) => name)
  return Object.freeze({
    type,
    may: compileRules(type),
    check: (mode: Mode, body: unknown, errors: Errors) => checks[mode](body, errors),
    bind: compileBinder(type.fields, dialect),
    documents: [...walk(type.fields)]
      .filter((field) => field.kind === 'value' && field.type === 'json')
      .map(({ path }) => path),
    secrets: [...walk(type.fields)].filter(isSecret).map(({ path }) => path),
    withoutFaulty(bag: Bag, errors: Errors) {
      const faulty = (name: string) => errors.has(name) || bag[name] === undefined
      return Object.fromEntries(
        columns.filter((name) => !faulty(name)).map((name) => [name, bag[name] ?? null]),
      )
    },
    writes: compileWrites(type, dialect),
    removals: compileRemovals(type, model, legacy, dialect),
    lists: compileLists(type, dialect),
    history: compileHistory(type, dialect),
    trash: compileTrash(type, dialect),
    login: type.login === undefined ? undefined : compileLogin(type, dialect),
  })
}

function check(type: EntityType, mode: Mode): (body: unknown, errors: Errors) => Values {
  const unknown = (key: string) =>
    Object.hasOwn(ownColumns, key) ? 'is set by the server' : `is not a field of ${type.name}`
  const checkBody = objectCheck(type.fields, mode, unknown)
  return (body, errors) => checkBody(body, '', errors) as Values
}
