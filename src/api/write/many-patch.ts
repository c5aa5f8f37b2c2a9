import { budget } from '../../budget.ts'
import {
  applyOperators,
  atSentPlaces,
  hasOperators,
  withoutOperators,
} from '../../declare/apply-operators.ts'
import { pathsIn } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import type { Values } from '../../declare/values.ts'
import { addError, type Errors } from '../../errors.ts'
import { isEqual, type Leaf, leavesOf, type State } from '../../journal/leaves.ts'
import { bindLeaves, type Now } from '../../journal/reversal.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Amendment, AmendmentGroup } from '../../plan/past/amendment.ts'
import type { Knowledge } from '../../plan/view/known.ts'
import { type Actor, system } from '../../plan/viewer/actor.ts'
import type { Params } from '../../store/dialect.ts'
import { callerParams } from '../context.ts'
import type { HookedChanges } from './hooks.ts'
import { mergeValues, valueAt } from './merge.ts'
import { provideChange } from './provide.ts'

/** The values that a PATCH sets in one Entity. */
export interface PatchedEntity {
  readonly id: number
  readonly version: number
  /** Values by column, with the columns that are derived from others. */
  readonly bound: Params
  /** The columns that the server or a hook sets. The caller's rules do not apply to them. */
  readonly free: readonly string[]
}

/** The body of a PATCH, applied to one Entity after the other. */
export class ManyPatch {
  /** Whether the values depend on the Entity. */
  readonly hasOperators: boolean
  /** Whether it sets fields that the caller does not see in every Entity. */
  readonly setsHidden: boolean
  readonly #plan: Plan
  readonly #actor: Actor
  readonly #body: Values
  /** The values for every Entity. */
  readonly #values: Values
  /** The values that the server sets, without expressions. */
  readonly #provided: Values = {}

  /** Errors of the body that do not depend on the Entity go into `errors`. */
  constructor(plan: Plan, actor: Actor, body: object, errors: Errors) {
    const { shown, check } = plan.view(actor)
    const fields = shown.fields ?? plan.type.fields
    this.#plan = plan
    this.#actor = actor
    this.#body = body as Values
    this.hasOperators = hasOperators(fields, body)
    this.#values = check('partial', withoutOperators(fields, this.#body, errors), errors)
    this.#addSecretErrors(this.#values, errors)
    const seen = pathsIn(plan.view(actor).fields)
    this.setsHidden = leavesOf(plan.type).some(
      (leaf) => isSent(leaf, this.#values) && !seen.has(leaf.field.path),
    )
    provideChange(plan, actor, { values: this.#provided, params: callerParams(actor), errors })
  }

  /**
   * Returns what to set in an Entity. Undefined if the caller sees that it already has these values: nobody must learn
   * whether a hidden value is the one that they send. Errors go into `errors`. `known`: what the caller sees of the
   * Entity, if not everything. `hooked`: what a hook made of the body.
   */
  apply(now: Now, errors: Errors, { known, hooked }: Applying): PatchedEntity | undefined {
    const state = now.snapshot.state
    const sent =
      hooked === undefined && !this.hasOperators
        ? this.#values
        : this.#valuesFor(hooked?.body ?? this.#body, seenOf(state, known), errors)
    const own = hooked === undefined ? {} : this.#checkOwn(hooked.own, errors)
    const asked = hooked === undefined ? sent : (hooked.sent as Values)
    const next = mergeValues(this.#plan.type.fields, state, { ...sent, ...own }, errors)
    addLengthErrors(this.#plan, { ...sent, ...own }, next, errors)
    if (errors.size > 0) return undefined
    const leaves = leavesOf(this.#plan.type)
    const set = leaves.filter(
      (leaf) => [sent, own].some((one) => isSent(leaf, one)) || isMade(leaf, state, next),
    )
    const seen = known && pathsIn(known.fields)
    const isSame = (leaf: Leaf) =>
      isEqual(leaf.read(state) ?? null, leaf.read(next) ?? null) &&
      (seen === undefined || seen.has(leaf.field.path) || !isSent(leaf, asked))
    if (set.every(isSame)) return undefined
    const provided = leaves.filter((leaf) => isSent(leaf, this.#provided))
    const { columns, values } = bindLeaves(this.#plan, [
      ...set.map((leaf) => [leaf, leaf.read(next) ?? null] as const),
      ...provided.map((leaf) => [leaf, leaf.read(this.#provided) ?? null] as const),
    ])
    return {
      id: now.id,
      version: now.version,
      bound: Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null])),
      free: [...set.filter((leaf) => isSent(leaf, own) && !isSent(leaf, asked)), ...provided].map(
        ({ column }) => column,
      ),
    }
  }

  #valuesFor(body: object, seen: object, errors: Errors): Values {
    const { shown, check } = this.#plan.view(this.#actor)
    const own: Errors = new Map()
    const places = new Map<string, string>()
    const fields = shown.fields ?? this.#plan.type.fields
    const values = check(
      'partial',
      applyOperators(fields, body as Values, seen, { errors: own, places }),
      own,
    )
    for (const [path, sentences] of atSentPlaces(own, places)) errors.set(path, sentences)
    return values
  }

  /** Checks what a hook sets. The caller's rules do not apply to it. */
  #checkOwn(own: Values, errors: Errors): Values {
    const values = this.#plan.view(system).check('partial', own, errors)
    this.#addSecretErrors(values, errors)
    return values
  }

  #addSecretErrors(values: Values, errors: Errors): void {
    for (const path of this.#plan.secrets)
      if (valueAt(values, path) !== undefined) addError(errors, path, 'cannot be set for many at once')
  }
}

interface Applying {
  readonly known: Knowledge | undefined
  readonly hooked: HookedChanges | undefined
}

/** The failures of many Entities. */
export class ManyFailures {
  readonly #type: string
  readonly #failures = new Map<string, { path: string; sentence: string; first: number; count: number }>()

  constructor(type: string) {
    this.#type = type
  }

  add(id: number, errors: Errors): void {
    for (const [path, sentences] of errors)
      for (const sentence of sentences) {
        const key = `${path} ${sentence}`
        const known = this.#failures.get(key)
        if (known === undefined) this.#failures.set(key, { path, sentence, first: id, count: 1 })
        else known.count++
      }
  }

  /** Adds each failure once, with the Entities that have it. */
  addTo(errors: Errors): void {
    for (const { path, sentence, first, count } of this.#failures.values())
      addError(
        errors,
        path,
        `${sentence} (${this.#type}/${first}${count === 1 ? '' : ` and ${count - 1} more`})`,
      )
  }
}

/** The changes that a PATCH makes to many Entities. */
export class PatchedMany {
  readonly #groups = new Map<string, Omit<AmendmentGroup, 'type'> & { readonly amendments: Amendment[] }>()
  readonly #failures: ManyFailures
  #bytes = 0

  constructor(type: string) {
    this.#failures = new ManyFailures(type)
  }

  add({ id, version, bound, free }: PatchedEntity): void {
    const columns = Object.keys(bound)
    const key = [...columns, '', ...free].join('|')
    const group = this.#groups.get(key) ?? { columns, free, amendments: [] }
    this.#groups.set(key, group)
    const values = Object.values(bound)
    group.amendments.push({ id, version, kind: 'update', deletion: null, along: false, values })
    for (const value of values) this.#bytes += typeof value === 'string' ? value.length : 8
  }

  fail(id: number, errors: Errors): void {
    this.#failures.add(id, errors)
  }

  /** Whether it is more than one request may write. */
  get isTooLarge(): boolean {
    return this.#bytes > budget.filteredBytes
  }

  get failures(): Errors {
    const errors: Errors = new Map()
    this.#failures.addTo(errors)
    if (this.isTooLarge)
      addError(errors, 'filter', `makes changes of more than ${budget.filteredBytes} bytes: match fewer`)
    return errors
  }

  /** Returns the changes, grouped by the columns that they set. */
  groups(plan: Plan): AmendmentGroup[] {
    return [...this.#groups.values()].map((group) => ({ type: plan.type, ...group }))
  }
}

/** Whether a body sets a field, by itself or with an object around it. */
function isSent({ field }: Leaf, values: Values): boolean {
  let at: unknown = values
  for (const name of field.path.split('.')) {
    if (at === null) return true
    if (!isRecord(at) || !Object.hasOwn(at, name)) return false
    at = at[name]
  }
  return true
}

/** Whether the field is in an object that was `null` before. */
function isMade({ within }: Leaf, state: State, next: object): boolean {
  return within !== undefined && !isRecord(valueAt(state, within)) && isRecord(valueAt(next, within))
}

/** Returns the part of a state that the caller sees. */
function seenOf(state: State, known: Knowledge | undefined): object {
  return known === undefined ? state : onlyFields(state, known.fields)
}

function onlyFields(state: Readonly<Record<string, unknown>>, fields: Knowledge['fields']): object {
  return Object.fromEntries(
    fields.map((field) => {
      const value = state[field.name]
      return [
        field.name,
        field.kind === 'object' && isRecord(value) ? onlyFields(value, field.fields) : value,
      ]
    }),
  )
}

/** Many requests may build a document, but the result must not be larger than one request could send. */
function addLengthErrors({ documents }: Plan, values: Values, next: object, errors: Errors): void {
  for (const path of documents) {
    const value = isRecord(valueAt(values, path)) ? valueAt(next, path) : undefined
    if (value !== undefined && Buffer.byteLength(JSON.stringify(value)) > budget.bodyBytes)
      addError(errors, path, `would have more than ${budget.bodyBytes} bytes`)
  }
}
