import { budget } from '../budget.ts'
import { applyOperators, atSentPlaces, hasOperators, withoutOperators } from '../declare/apply-operators.ts'
import { isRecord } from '../declare/record.ts'
import type { Values } from '../declare/values.ts'
import { type Errors, note } from '../errors.ts'
import { isEqual, type Leaf, leavesOf, type State } from '../journal/leaves.ts'
import { bindLeaves, type Now } from '../journal/reversal.ts'
import type { Plan } from '../plan/compile.ts'
import type { Amendment, AmendmentGroup } from '../plan/past/amendment.ts'
import type { Knowledge } from '../plan/view/known.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { mergeValues, valueAt } from './merge.ts'

/** The body of a PATCH, applied to one Entity after the other. */
export class ManyPatch {
  /** Whether what it sets depends on the Entity. */
  readonly hasOperators: boolean
  readonly #plan: Plan
  readonly #actor: Actor
  readonly #body: Values
  /** What it sets in every Entity. */
  readonly #values: Values

  /** Everything that is wrong with the body whatever the Entities goes into `errors`. */
  constructor(plan: Plan, actor: Actor, body: object, errors: Errors) {
    const { shown, check } = plan.view(actor)
    const fields = shown.fields ?? plan.type.fields
    this.#plan = plan
    this.#actor = actor
    this.#body = body as Values
    this.hasOperators = hasOperators(fields, body)
    this.#values = check('partial', withoutOperators(fields, this.#body, errors), errors)
    for (const path of plan.secrets)
      if (valueAt(this.#values, path) !== undefined) note(errors, path, 'cannot be set for many at once')
  }

  /** Adds what it does to one Entity. `known`: what the caller sees of it, if that is not everything. */
  apply(now: Now, known: Knowledge | undefined, to: PatchedMany): void {
    const errors: Errors = new Map()
    const state = now.snapshot.state
    const values = this.hasOperators ? this.#valuesFor(state, known, errors) : this.#values
    const next = mergeValues(this.#plan.type.fields, state, values, errors)
    noteLong(this.#plan, values, next, errors)
    if (errors.size > 0) {
      to.fail(now.id, errors)
      return
    }
    const set = leavesOf(this.#plan.type)
      .filter((leaf) => isSent(leaf, values) || isMade(leaf, state, next))
      .map((leaf) => [leaf, leaf.read(next) ?? null] as const)
    if (set.every(([leaf, value]) => isEqual(leaf.read(state) ?? null, value))) return
    const { columns, values: bound } = bindLeaves(this.#plan, set)
    const { id, version } = now
    to.add(columns, { id, version, kind: 'update', deletion: null, along: false, values: bound })
  }

  #valuesFor(state: State, known: Knowledge | undefined, errors: Errors): Values {
    const { shown, check } = this.#plan.view(this.#actor)
    const own: Errors = new Map()
    const places = new Map<string, string>()
    const seen = known === undefined ? state : seenOf(state, known.fields)
    const fields = shown.fields ?? this.#plan.type.fields
    const body = applyOperators(fields, this.#body, seen, { errors: own, places })
    const values = check('partial', body, own)
    for (const [path, sentences] of atSentPlaces(own, places)) errors.set(path, sentences)
    return values
  }
}

/** What a PATCH does to many Entities. */
export class PatchedMany {
  readonly #type: string
  readonly #groups = new Map<string, { columns: readonly string[]; amendments: Amendment[] }>()
  readonly #failures = new Map<string, { path: string; sentence: string; first: number; count: number }>()
  #bytes = 0

  constructor(type: string) {
    this.#type = type
  }

  add(columns: readonly string[], amendment: Amendment): void {
    const key = columns.join('|')
    const group = this.#groups.get(key) ?? { columns, amendments: [] }
    this.#groups.set(key, group)
    group.amendments.push(amendment)
    for (const value of amendment.values) this.#bytes += typeof value === 'string' ? value.length : 8
  }

  fail(id: number, errors: Errors): void {
    for (const [path, sentences] of errors)
      for (const sentence of sentences) {
        const key = `${path} ${sentence}`
        const known = this.#failures.get(key)
        if (known === undefined) this.#failures.set(key, { path, sentence, first: id, count: 1 })
        else known.count++
      }
  }

  /** Each failure once, with the Entities that it is about. */
  get failures(): Errors {
    const errors: Errors = new Map()
    for (const { path, sentence, first, count } of this.#failures.values())
      note(errors, path, `${sentence} (${this.#type}/${first}${count === 1 ? '' : ` and ${count - 1} more`})`)
    if (this.#bytes > budget.filteredBytes)
      note(errors, 'filter', `makes changes of more than ${budget.filteredBytes} bytes: match fewer`)
    return errors
  }

  /** Those that change, together where they set the same columns. */
  groups(plan: Plan): AmendmentGroup[] {
    return [...this.#groups.values()].map((group) => ({ type: plan.type, ...group }))
  }
}

/** Whether a body sets it, by itself or with an object around it. */
function isSent({ field }: Leaf, values: Values): boolean {
  let at: unknown = values
  for (const name of field.path.split('.')) {
    if (at === null) return true
    if (!isRecord(at) || !Object.hasOwn(at, name)) return false
    at = at[name]
  }
  return true
}

/** Whether it is in an object that was `null` before. */
function isMade({ within }: Leaf, state: State, next: object): boolean {
  return within !== undefined && !isRecord(valueAt(state, within)) && isRecord(valueAt(next, within))
}

/** A state with only what the caller sees of it. */
function seenOf(state: Readonly<Record<string, unknown>>, fields: Knowledge['fields']): object {
  return Object.fromEntries(
    fields.map((field) => {
      const value = state[field.name]
      return [field.name, field.kind === 'object' && isRecord(value) ? seenOf(value, field.fields) : value]
    }),
  )
}

/** Many requests may build a document, but the result must not be larger than one request could send. */
function noteLong({ documents }: Plan, values: Values, next: object, errors: Errors): void {
  for (const path of documents) {
    const value = isRecord(valueAt(values, path)) ? valueAt(next, path) : undefined
    if (value !== undefined && Buffer.byteLength(JSON.stringify(value)) > budget.bodyBytes)
      note(errors, path, `would have more than ${budget.bodyBytes} bytes`)
  }
}
