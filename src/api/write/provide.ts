import { columnOf } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { addReferenceError, checkOf, type Values } from '../../declare/values.ts'
import { addError, type Errors, Failure } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { NOW } from '../../plan/condition/row-source.ts'
import { columnsBeside } from '../../plan/tables/schema.ts'
import { type Actor, userOf } from '../../plan/viewer/actor.ts'
import type { Provision } from '../../plan/write/provide.ts'
import { type Act, read } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import { isDerivedFrom } from '../../store/tables.ts'
import { isMatch, type Preconditions } from '../context.ts'
import { isFaulty } from '../faults.ts'
import { valueAt } from './merge.ts'

/** A checked body, with its parameters and errors. */
interface ProvidedBody {
  readonly values: Values
  readonly params: Params
  readonly errors: Errors
}

/** Adds values of the server to a new Entity: defaults, then those always set. Returns the errors of expressions. */
export function* provideNew(plan: Plan, actor: Actor, { values, params, errors }: ProvidedBody): Act<Errors> {
  const { provided } = plan.view(actor)
  const found: Errors = new Map()
  if (provided === undefined) return found
  for (const all of [provided.default, provided.create]) {
    const open = all.filter((one) => isUnset(one, values, errors))
    providePlain(open, actor, { values, params, errors })
    const provisions = open.filter(({ expression, reads }) => {
      return expression !== undefined && ![...reads].some((column) => isFaulty(column, errors))
    })
    if (provisions.length === 0) continue
    plan.bind(values, params)
    const [row = []] = yield* read(provided.valuesOfNew(provisions), params)
    const [list] = row
    provideFound(provisions, JSON.parse(String(list)), values, found)
  }
  return found
}

/** Adds values that every update sets, without expressions: these depend on the Entity when it is written. */
export function provideChange(plan: Plan, actor: Actor, providing: ProvidedBody): void {
  const { provided } = plan.view(actor)
  if (provided !== undefined) providePlain(provided.update, actor, providing)
}

/** The columns of expressions that every update sets, and the columns derived from them. */
export function expressionColumns(plan: Plan, actor: Actor): string[] {
  return expressionsOf(plan, actor).flatMap(({ field }) => {
    const column = columnOf(field)
    return [column, ...columnsBeside(plan.type).filter((name) => isDerivedFrom(column, name))]
  })
}

/** Whether every update sets expressions. */
export function setsExpressions(plan: Plan, actor: Actor): boolean {
  return expressionsOf(plan, actor).length > 0
}

function expressionsOf(plan: Plan, actor: Actor): readonly Provision[] {
  return plan.view(actor).provided?.update.filter(({ expression }) => expression !== undefined) ?? []
}

/** Binds the expressions that every update sets. The Entity must then not change before the write. */
export function* provideChanged(
  plan: Plan,
  actor: Actor,
  { params, when, partial }: { params: Params; when: Preconditions; partial: boolean },
): Act<Errors> {
  const { provided } = plan.view(actor)
  const errors: Errors = new Map()
  const provisions = expressionsOf(plan, actor)
  if (provided === undefined || provisions.length === 0) return errors
  // These may be left from an earlier try.
  for (const { field } of provisions)
    delete params[field.kind === 'reference' ? `${field.path}.id` : field.path]
  const [row] = yield* read(provided.valuesOfChanged(provisions, params, partial), params)
  if (row === undefined) throw new Failure('not_found')
  const [version, list] = row
  if (!isMatch(when.ifMatch, Number(version))) throw new Failure('stale')
  const values: Values = {}
  provideFound(provisions, JSON.parse(String(list)), values, errors)
  if (errors.size === 0) plan.bind(values, params)
  // A merge of documents may have read an earlier version: then the write is refused, and tried again.
  if (params.$versions === when.ifMatch) params.$versions = `|${version}|`
  return errors
}

/** Whether a value may be set: a default only if nothing was sent, and never inside a value with errors. */
function isUnset({ field: { path }, occasion }: Provision, values: Values, errors: Errors): boolean {
  if (isFaulty(path, errors)) return false
  return occasion !== 'default' || valueAt(values, path) === undefined
}

function providePlain(
  all: readonly Provision[],
  actor: Actor,
  { values, params, errors }: ProvidedBody,
): void {
  for (const { field, value, expression } of all) {
    if (expression !== undefined) continue
    if ('constant' in value) put(values, field.path, value.constant)
    else if (value.server === 'now') {
      const instant = String(params[NOW])
      put(
        values,
        field.path,
        field.kind === 'value' && field.column === 'date' ? instant.slice(0, 10) : instant,
      )
    } else {
      const user = userOf(actor)
      const isOne = field.kind === 'reference' && user?.entity === field.target
      putOrRequire({ field }, isOne ? { id: user.id } : null, values, errors)
    }
  }
}

/** Adds the results of expressions, which are JSON. */
function provideFound(
  provisions: readonly Provision[],
  list: readonly unknown[],
  values: Values,
  errors: Errors,
): void {
  for (const [at, { field, expression }] of provisions.entries()) {
    const one = list[at] ?? null
    if (one === null) putOrRequire({ field }, null, values, errors)
    else {
      const isWhole = expression?.kind === 'integer' && field.kind === 'value' && field.column === 'decimal'
      const given = field.kind === 'reference' ? { id: one } : isWhole ? String(one) : one
      put(values, field.path, checkOf(field, 'whole')(given, field.path, errors))
    }
  }
}

function putOrRequire(
  { field }: Pick<Provision, 'field'>,
  value: unknown,
  values: Values,
  errors: Errors,
): void {
  if (value !== null || field.optional) put(values, field.path, value)
  else if (field.kind === 'reference') addReferenceError(errors, field.path, 'is required')
  else addError(errors, field.path, 'is required')
}

/** Changes the values in place: a check makes new objects, which nobody else has. */
function put(values: Values, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let inside = values as Record<string, unknown>
  for (const name of names) {
    const next = inside[name]
    const made = isRecord(next) ? next : {}
    inside[name] = made
    inside = made
  }
  inside[last] = value
}
