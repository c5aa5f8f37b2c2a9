import { budget } from '../../budget.ts'
import { withoutOperators } from '../../declare/apply-operators.ts'
import { pathsIn } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalidAt } from '../../errors.ts'
import { byAll, type VersionChange, versionChanges } from '../../journal/conflicts.ts'
import { isEqual, leavesOf, type State } from '../../journal/leaves.ts'
import { Snapshot } from '../../journal/versions.ts'
import type { Plan } from '../../plan/compile.ts'
import { versionColumns } from '../../plan/past/history.ts'
import type { EntityState } from '../../plan/view/entity-row.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Context } from '../context.ts'
import { knowledgeOf } from '../knowledge.ts'
import { refuseUnchangeable } from '../live.ts'
import type { Query } from '../query.ts'

/** Reads `?base=3`, the version that a PATCH was made from; undefined if it is absent or wrong. */
export function baseOf(query: Query, errors: Errors): number | undefined {
  const { base } = query.take(new Map())
  if (base === undefined) return undefined
  const version = /^[1-9]\d{0,15}$/.test(base) ? Number(base) : Number.NaN
  return Number.isSafeInteger(version)
    ? version
    : addError(errors, 'base', 'must be a version: a whole number from 1')
}

interface Based {
  /** The version that the caller had. */
  readonly base: number
  /** The body as it was sent. */
  readonly body: unknown
  /** The present Entity, as the caller sees it. */
  readonly present: EntityState
}

/**
 * Throws if a sent value was changed since the base. Values are compared, so a value that was changed back is no
 * conflict, and neither is one that is already as sent. Fields that the caller does not see are ignored: they were not
 * part of what the caller had. To be run in the transaction of the write, once the Entity is locked.
 */
export function* refuseChanged(context: Context, plan: Plan, actor: Actor, based: Based): Act<void> {
  const { base, present } = based
  if (base === present.version) return
  yield* refuseUnchangeable(plan, actor, present.id)
  if (base > present.version)
    throw invalidAt('base', `is not a version yet: the last one is ${present.version}`)
  const [row] = yield* read(plan.history.version, { $id: present.id, $version: base })
  const data = row === undefined ? null : versionColumns.read(row).data
  if (data === null) throw new Failure('version_gone')
  const upcaster = context.upcasterOf(plan.type.name)
  const former = new Snapshot(String(data), undefined, upcaster).state
  const seen = yield* seenPaths(context, plan, actor, present.id)
  const found = collisionsOf(plan, actor, based, former).filter(({ field }) => seen.has(field))
  if (found.length === 0) return
  const changes = present.may('history') ? yield* changesSince(context, plan, based) : []
  throw changedMeanwhile(based, found, changes)
}

/** The fields that the caller sees in this Entity. The former state has all fields, the present one only these. */
function* seenPaths(context: Context, plan: Plan, actor: Actor, id: number): Act<ReadonlySet<string>> {
  const { name } = plan.type
  const known = (yield* knowledgeOf(context, actor, [[name, id]])).get(`${name}/${id}`)
  return pathsIn(known?.fields ?? [])
}

/** A value that both the caller and somebody else have changed. */
interface Collision {
  /** The path of the value, which may be inside a `json` field. */
  readonly path: string
  readonly column: string
  /** The dot path of its field. */
  readonly field: string
  readonly now: unknown
}

function collisionsOf(plan: Plan, actor: Actor, { body, present }: Based, former: State): Collision[] {
  const { shown, check } = plan.view(actor)
  const fields = shown.fields ?? plan.type.fields
  // Errors of the body are reported by the change itself.
  const errors: Errors = new Map()
  const sent = isRecord(body) ? withoutOperators(fields, body, errors) : body
  const checked = check('partial', sent, errors) as State
  if (errors.size > 0) return []
  const current = JSON.parse(present.json) as State
  return leavesOf(plan.type).flatMap(({ column, field, isSecret, read }) => {
    const [mine, was, now] = [read(checked), read(former), read(current)]
    if (isSecret || mine === undefined || was === undefined || now === undefined) return []
    return collidingIn(column, mine, was, now).map((one) => ({ ...one, column, field: field.path }))
  })
}

/** JSON documents are merged key by key, so they are compared key by key. */
function collidingIn(
  path: string,
  mine: unknown,
  was: unknown,
  now: unknown,
): Pick<Collision, 'path' | 'now'>[] {
  if (isEqual(was, now) || isEqual(mine, now)) return []
  if (!isRecord(mine) || !isRecord(was) || !isRecord(now)) return [{ path, now: now ?? null }]
  return Object.keys(mine).flatMap((key) =>
    // A `null` removes a key.
    collidingIn(`${path}.${key}`, mine[key] ?? undefined, was[key], now[key]),
  )
}

/** Returns what each version since the base has changed. */
function* changesSince(context: Context, plan: Plan, { base, present }: Based): Act<VersionChange[]> {
  const params = { $id: present.id, $version: base }
  const rows = yield* read(plan.history.since(budget.explainedVersions), params)
  return versionChanges(plan, rows, new Set(), context.upcasterOf(plan.type.name))
}

function changedMeanwhile(
  { base, present }: Based,
  found: readonly Collision[],
  changes: readonly VersionChange[],
): Failure {
  const errors: Errors = new Map()
  const conflicts: [string, object][] = []
  for (const { path, column, now } of found) {
    const own = changes.filter(({ columns }) => columns.has(column))
    addError(
      errors,
      path,
      () => `was changed since version ${base}${byAll(own)}; is ${JSON.stringify(now)} now`,
    )
    const last = own.at(-1)
    const who = last && {
      version: last.version,
      actor: last.actor,
      at: last.at,
      operation: last.operation,
    }
    conflicts.push([path, { now, ...who }])
  }
  const more = { version: present.version, conflicts: Object.fromEntries(conflicts) }
  return new Failure('changed_meanwhile', { errors, more })
}
