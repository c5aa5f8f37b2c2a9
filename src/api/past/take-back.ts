import { budget } from '../../budget.ts'
import { no } from '../../declare/cel/expression.ts'
import { Failure } from '../../errors.ts'
import {
  addSentences,
  CHANGED,
  type Conflicts,
  explainConflicts,
  explainObstacle,
} from '../../journal/conflicts.ts'
import {
  groupsOf,
  isEmpty,
  type Now,
  type Reversal,
  reverse,
  reversedEntity,
} from '../../journal/reversal.ts'
import { type Touched, touchedBy } from '../../journal/versions.ts'
import { type AmendmentGroup, amendParams, UNMET } from '../../plan/past/amendment.ts'
import { MOVED } from '../../plan/past/moved.ts'
import { inOrder, type Obstacle } from '../../plan/past/obstacle.ts'
import type { View } from '../../plan/view/view.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { LAST_ADMIN } from '../../plan/viewer/admins.ts'
import { type Act, after, read, write } from '../../store/act.ts'
import type { Params, Row } from '../../store/dialect.ts'
import { replacedBy, sealReplaced, secretsOf } from '../account/secrets.ts'
import { type Context, callerParams, operationOf, TRIES } from '../context.ts'
import { knowledgeOf } from '../knowledge.ts'
import { undoneParams } from '../notes.ts'
import { Dependents } from '../write/dependents.ts'
import { refusedForSelf } from './own-account.ts'
import { restoreTogether } from './restore-together.ts'
import { excusedBy } from './restored-along.ts'
import { statesOf } from './states.ts'

/** What else an undo may do to remove obstacles. */
export type With = 'targets' | 'dependents'

export interface TakeBackRequest {
  /** The operations to take back. */
  readonly operations: readonly string[]
  readonly skipConflicts: boolean
  readonly with: ReadonlySet<With>
  /** Only their changes of one Entity, which must still be at this version. */
  readonly only?: { readonly entity: string; readonly id: number; readonly version: number }
  /** Whether they are somebody else's: then they must be deletions, and the caller must be allowed to restore all. */
  readonly foreign: boolean
}

/** Thrown if the requested Entity has changed in the meantime. */
export class MovedOn extends Error {}

export interface TakenBack {
  /** The new operation; `null` if there was nothing to do. */
  readonly operation: string | null
  readonly skipped: Conflicts
  /** The dot paths that could not be set, by Entity. */
  readonly unmapped: ReadonlyMap<string, readonly string[]>
  /** The dot paths of secrets that were set, by Entity. */
  readonly secrets: ReadonlyMap<string, readonly string[]>
}

/** What the operations have changed, without the skipped Entities. */
interface TouchedNow {
  readonly reversals: readonly Reversal[]
  /** The Entities that cannot be taken back, and why. */
  readonly lost: Conflicts
  /** The operations that have changed each Entity. */
  readonly made: ReadonlyMap<string, readonly string[]>
}

/** The obstacles to an undo. */
interface UndoObstacles {
  readonly conflicts: Conflicts
  /** The Entities for which a rule is the only obstacle. */
  readonly forbidden: ReadonlySet<string>
}

/**
 * Reads what the operations have changed, computes the reversal, and writes it as one operation. Entities that have
 * changed meanwhile are read again.
 */
export function* takeBack(context: Context, actor: Actor, request: TakeBackRequest): Act<TakenBack> {
  const work = new TakeBack(context, actor, request)
  for (let tries = 0, rounds = 0; tries < TRIES && rounds < budget.undoSkips; ) {
    const outcome = yield* work.attempt()
    if (typeof outcome === 'object') return outcome
    if (outcome === 'moved') tries++
    else rounds++
  }
  throw new Failure('busy')
}

class TakeBack {
  readonly #context: Context
  readonly #actor: Actor
  readonly #request: TakeBackRequest
  readonly #view: Pick<View, 'viewer' | 'disclosure'>
  readonly #operation: Params & { $operation: string }
  readonly #skipped: Conflicts = new Map()
  /** Entities that are restored because others are. */
  #along: ReadonlySet<string> = new Set()
  readonly #dependents = new Dependents()
  /** Secrets that cannot be taken back, and why. */
  #lostSecrets: Conflicts = new Map()
  /** Whether targets were restored before the rest. */
  #began = false

  constructor(context: Context, actor: Actor, request: TakeBackRequest) {
    this.#context = context
    this.#actor = actor
    this.#request = request
    this.#operation = operationOf(actor)
    const [plan] = context.plans.values()
    if (plan === undefined) throw new Failure('not_found')
    this.#view = plan.view(actor)
  }

  /** `moved`: others have changed an Entity. `again`: there is more to do. */
  *attempt(): Act<TakenBack | 'moved' | 'again'> {
    const found = yield* this.#look()
    if (this.#request.foreign) yield* this.#refuseForeign(found)
    const against = yield* this.#conflictsOf(found)
    if (against.conflicts.size > 0 && this.#request.skipConflicts) {
      this.#skip(against.conflicts)
      return 'again'
    }
    const reversals = [...found.reversals, ...(yield* this.#dependents.reversals(this.#context))].filter(
      (one) => !isEmpty(one),
    )
    if (against.conflicts.size === 0 && reversals.length === 0)
      return yield* this.#done(found.reversals, this.#began)
    const groups = groupsOf(reversals)
    if (against.conflicts.size === 0) {
      const { steps, params } = this.#context.amend.steps(groups, this.#request.operations, this.#view.viewer)
      const seals = sealReplaced(this.#context, reversals)
      const outcome = yield* write([...steps, ...seals.steps, this.#context.notes.undo], {
        ...params,
        ...seals.params,
        ...undoneParams(reversals.flatMap((one) => found.made.get(reversedEntity(one)) ?? [])),
        ...this.#operation,
      })
      if (outcome.done) return yield* this.#done(found.reversals, true)
      if (outcome.step === MOVED) return 'moved'
      if (outcome.step === LAST_ADMIN) throw new Failure('last_admin')
      if (outcome.step === UNMET) return this.#refuseUnmet(outcome.rows)
    }
    return yield* this.#overcome(reversals, groups, against)
  }

  *#done(reversals: readonly Reversal[], written: boolean): Act<TakenBack> {
    if (written) yield* after(() => this.#context.identities.forget())
    const unmapped = new Map<string, readonly string[]>()
    const secrets = new Map<string, readonly string[]>()
    this.#skip(this.#lostSecrets)
    for (const one of reversals) {
      const set = replacedBy(one.plan, one.columns)
      if (set.length > 0) secrets.set(reversedEntity(one), set)
      const { disclosure } = one.plan.view(this.#actor)
      const paths = one.unmapped.filter((path) => disclosure.column(one.plan.type.name, path))
      if (paths.length === 0) continue
      unmapped.set(reversedEntity(one), paths)
      if (isEmpty(one))
        addSentences(this.#skipped, reversedEntity(one), [
          `has former values that are no longer declared: ${paths.join(', ')}`,
        ])
    }
    return {
      operation: written ? this.#operation.$operation : null,
      skipped: this.#skipped,
      unmapped,
      secrets,
    }
  }

  #skip(conflicts: Conflicts): void {
    for (const [name, sentences] of conflicts) addSentences(this.#skipped, name, sentences)
  }

  /** Finds what was changed and is not skipped: its reversal, or why that is no longer known. */
  *#look(): Act<TouchedNow> {
    const { plans, operations } = this.#context
    const rows = yield* read(operations.touched, { $operations: JSON.stringify(this.#request.operations) })
    const found = touchedBy(rows, this.#context.upcasterOf).filter((one) => this.#isWanted(one))
    const known = yield* statesOf(this.#context, found)
    const { only } = this.#request
    // A target that was restored before the rest may have restored it too.
    if (
      only !== undefined &&
      !this.#began &&
      known.get(`${only.entity}/${only.id}`)?.version !== only.version
    )
      throw new MovedOn()
    const { touched, now } = yield* this.#withSecrets(found, known)
    const lost: Conflicts = new Map()
    const reversals: Reversal[] = []
    for (const one of touched) {
      const name = `${one.entity}/${one.id}`
      const plan = plans.get(one.entity)
      const state = now.get(name)
      if (plan === undefined) lost.set(name, [`is of the type ${one.entity}, which is no longer declared`])
      else if (state === undefined) lost.set(name, ['was purged and cannot be restored'])
      else if (one.lost !== undefined) lost.set(name, [one.lost])
      else {
        const reversal = reverse(plan, one.versions, state)
        const along = this.#along.has(name)
        reversals.push(along ? { ...reversal, amendment: { ...reversal.amendment, along } } : reversal)
      }
    }
    const made = new Map(
      touched.map(({ entity, id, versions }) => [
        `${entity}/${id}`,
        versions.flatMap(({ undone, operation }) => (undone ? [operation] : [])),
      ]),
    )
    return { reversals, lost, made }
  }

  #isWanted({ entity, id }: Touched): boolean {
    const { only } = this.#request
    if (only !== undefined && (only.entity !== entity || only.id !== id)) return false
    return !this.#skipped.has(`${entity}/${id}`)
  }

  /** Adds former and present secrets. Notes those that cannot be taken back. */
  *#withSecrets(
    touched: readonly Touched[],
    states: ReadonlyMap<string, Now>,
  ): Act<{ touched: readonly Touched[]; now: ReadonlyMap<string, Now> }> {
    const now = new Map(states)
    const all = [...touched]
    this.#lostSecrets = new Map()
    for (const plan of this.#context.plans.values()) {
      const { name } = plan.type
      const ids = touched.filter(({ entity }) => entity === name).map(({ id }) => id)
      const past = ids.length === 0 ? undefined : yield* secretsOf(this.#context, this.#actor, plan, ids)
      if (past === undefined) continue
      for (const [at, one] of all.entries()) {
        if (one.entity !== name) continue
        all[at] = past.addTo(one)
        for (const { undone, version } of one.versions)
          if (undone && version > 1)
            for (const [column, why] of past.lost(one.id, version - 1))
              addSentences(this.#lostSecrets, `${name}/${one.id}`, [`${column} ${why}`])
        const state = now.get(`${name}/${one.id}`)
        if (state === undefined) continue
        const snapshot = state.snapshot.withSecrets(past.at(one.id, state.version))
        now.set(`${name}/${one.id}`, { ...state, snapshot })
      }
    }
    return { touched: all, now }
  }

  /** Operations of others exist only for callers who may restore all that they deleted, even if it is live again. */
  *#refuseForeign({ reversals, lost }: TouchedNow): Act<void> {
    const checked = reversals.flatMap((one): Reversal[] => {
      if (!isEmpty(one)) return [one]
      return one.deletedBy.size > 0 ? [{ ...one, amendment: { ...one.amendment, kind: 'restore' } }] : []
    })
    const obstacles = yield* this.#obstacles(groupsOf(checked))
    const excused = excusedBy(checked, obstacles, this.#context.model)
    const forbidden = obstacles.some(
      ({ reason, entity, id }) => reason === 'forbidden' && !excused.has(`${entity}/${id}`),
    )
    if (forbidden || lost.size > 0) throw new Failure('not_found')
  }

  /** Finds values that others have changed since, and versions that are lost. */
  *#conflictsOf({ reversals, lost }: TouchedNow): Act<UndoObstacles> {
    const conflicts: Conflicts = new Map()
    const forbidden = new Set<string>()
    for (const [name, sentences] of lost) addSentences(conflicts, name, sentences)
    for (const one of reversals) {
      const name = reversedEntity(one)
      const own = refusedForSelf(this.#actor, one)
      if (one.conflicts.length === 0 && own === undefined) continue
      // Callers who may not change a type at all do not learn what happened to it.
      if (!this.#mayTouch(one)) {
        addSentences(conflicts, name, ['is not yours to change'])
        forbidden.add(name)
      } else
        addSentences(conflicts, name, own === undefined ? yield* this.#explain(one, conflicts.size) : [own])
    }
    return { conflicts, forbidden }
  }

  #mayTouch({ plan }: Reversal): boolean {
    const { may } = plan.view(this.#actor)
    return (['update', 'delete', 'restore'] as const).some((act) => may[act] !== no)
  }

  /** Says who has changed what, unless enough Entities are named already. */
  *#explain(reversal: Reversal, named: number): Act<string[]> {
    const { plan, amendment, conflicts } = reversal
    if (named >= budget.namedChanges) return [CHANGED]
    const known = yield* knowledgeOf(this.#context, this.#actor, [[plan.type.name, amendment.id]])
    const knowledge = known.get(reversedEntity(reversal))
    if (knowledge === undefined || !knowledge.history) return [CHANGED]
    const first = Math.min(...conflicts.map(({ version }) => version))
    const rows = yield* read(plan.history.since(budget.explainedVersions), {
      $id: amendment.id,
      $version: first,
    })
    const undone = new Set(this.#request.operations)
    return explainConflicts(plan, conflicts, rows, {
      undone,
      fields: knowledge.fields,
      upcaster: this.#context.upcasterOf(plan.type.name),
    })
  }

  /** Finds all obstacles, and removes those that it may. Throws if others are left. */
  *#overcome(
    reversals: readonly Reversal[],
    groups: readonly AmendmentGroup[],
    { conflicts, forbidden }: UndoObstacles,
  ): Act<'moved' | 'again'> {
    const all = yield* this.#obstacles(groups)
    const excused = excusedBy(reversals, all, this.#context.model)
    if ([...excused].some((name) => !this.#along.has(name))) {
      this.#along = new Set([...this.#along, ...excused])
      return 'again'
    }
    if (all.length === 0 && conflicts.size === 0) return 'moved'
    const left = yield* this.#remedy(all)
    if (left.length === 0 && conflicts.size === 0) return 'again'
    const found: Conflicts = new Map(conflicts)
    const ruled = new Set(forbidden)
    for (const obstacle of left) {
      const name = `${obstacle.entity}/${obstacle.id}`
      if (obstacle.reason !== 'forbidden') ruled.delete(name)
      else if (!found.has(name)) ruled.add(name)
      addSentences(found, name, [explainObstacle(obstacle, this.#view.disclosure)])
    }
    if (!this.#request.skipConflicts) throw cannot(found, ruled.size === found.size)
    this.#skip(found)
    return 'again'
  }

  /** Checks can be evaluated only after all changes. Handles those that fail. */
  #refuseUnmet(rows: readonly Row[]): 'again' {
    const found: Conflicts = new Map()
    for (const row of inOrder(rows)) {
      const obstacle = this.#context.amend.obstacleOf(row)
      const sentence = explainObstacle(obstacle, this.#view.disclosure)
      addSentences(found, `${obstacle.entity}/${obstacle.id}`, [sentence])
    }
    if (!this.#request.skipConflicts) throw cannot(found)
    this.#skip(found)
    return 'again'
  }

  *#obstacles(groups: readonly AmendmentGroup[]): Act<Obstacle[]> {
    const { amend, model } = this.#context
    const params = { ...amendParams(groups, model, this.#request.operations), ...callerParams(this.#actor) }
    const found: Obstacle[] = []
    for (const statement of amend.obstacles(groups, this.#view.viewer))
      for (const row of inOrder(yield* read(statement, params))) found.push(amend.obstacleOf(row))
    return found
  }

  /** Removes obstacles as `with` says, and returns the rest. */
  *#remedy(obstacles: readonly Obstacle[]): Act<readonly Obstacle[]> {
    let left = obstacles
    if (this.#request.with.has('dependents')) left = this.#dependents.add(left, this.#context.model)
    if (!this.#request.with.has('targets')) return left
    const dead = left.flatMap((one) => (one.reason === 'dead' ? [one.other.join('/')] : []))
    for (const target of new Set(dead)) {
      if (!(yield* this.#restore(target))) continue
      this.#began = true
      left = left.filter((one) => one.reason !== 'dead' || one.other.join('/') !== target)
    }
    return left
  }

  /** Restores a target. False if that is not possible: then the obstacle stays. */
  *#restore(target: string): Act<boolean> {
    const [type = '', id = ''] = target.split('/')
    const operation = this.#operation.$operation
    try {
      return yield* restoreTogether(this.#context, this.#actor, { type, id: Number(id), operation })
    } catch (error) {
      if (error instanceof Failure && this.#request.skipConflicts) return false
      throw error
    }
  }
}

/** The failure of an undo: `forbidden` if rules are the only obstacles. */
export function cannot(conflicts: Conflicts, forbidden = false): Failure {
  const errors = new Map([...conflicts].slice(0, budget.namedChanges))
  return new Failure(forbidden ? 'forbidden' : 'cannot_undo', { errors })
}
