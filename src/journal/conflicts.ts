import { budget } from '../budget.ts'
import { columnOf, type Field, walk } from '../declare/model.ts'
import type { Plan } from '../plan/compile.ts'
import { sinceColumns } from '../plan/past/history.ts'
import type { Obstacle } from '../plan/past/obstacle.ts'
import { EMAIL_KEY } from '../plan/tables/schema.ts'
import type { Disclosure } from '../plan/viewer/disclosure.ts'
import type { Row } from '../store/dialect.ts'
import { isEqual, leavesOf } from './leaves.ts'
import type { Conflict } from './reversal.ts'
import type { Upcaster } from './upcast.ts'
import { DELETED, deletionAt, Snapshot } from './versions.ts'

/** Why Entities cannot be taken back: sentences by Entity. */
export type Conflicts = Map<string, string[]>

/** The message if the reason must not be revealed. */
export const CHANGED = 'was changed since'

/** One version of an Entity: who made it, when, and which columns it changed. */
export interface VersionChange {
  readonly columns: ReadonlySet<string>
  readonly version: number
  readonly isDelete: boolean
  readonly actor: string | null
  readonly at: string
  readonly operation: string
}

interface Explained {
  readonly undone: ReadonlySet<string>
  readonly fields: readonly Field[]
  readonly upcaster: Upcaster
}

/**
 * Explains who changed the columns in conflict, and when. `rows`: the versions since the first one that is taken back,
 * as `history.since` finds them. `undone`: the operations that are taken back. `fields`: those that may be revealed.
 */
export function explainConflicts(
  plan: Plan,
  conflicts: readonly Conflict[],
  rows: readonly Row[],
  { undone, fields, upcaster }: Explained,
): string[] {
  const changes = versionChanges(plan, rows, undone, upcaster)
  const named = new Set([DELETED, ...[...walk(fields)].map(columnOf)])
  const sentences = new Set<string>()
  const first = new Map<string, number>()
  for (const { column, version } of conflicts)
    first.set(column, Math.min(version, first.get(column) ?? Number.POSITIVE_INFINITY))
  for (const [column, version] of first) {
    if (!named.has(column)) {
      sentences.add(CHANGED)
      continue
    }
    const since = changes.filter((one) => one.version > version && one.columns.has(column))
    sentences.add(column === DELETED ? explainDeletion(since) : `${column} was changed since${byAll(since)}`)
  }
  return [...sentences]
}

/** `, by users/3 at …` for each of the last changes, and the number of the earlier ones. */
export function byAll(changes: readonly VersionChange[]): string {
  const named = changes.slice(-budget.namedObstacles).map((one) => `, by ${maker(one)}`)
  const more = changes.length - named.length
  return named.join('') + (more > 0 ? `, and ${more} times before` : '')
}

/** Explains a conflict with deletions. The Entity may have been deleted and restored several times. */
function explainDeletion(changes: readonly VersionChange[]): string {
  const verb = ({ isDelete }: VersionChange) => (isDelete ? 'deleted' : 'restored')
  const last = changes.at(-1)
  if (last === undefined) return CHANGED
  const named = changes.slice(-budget.namedObstacles).map((one) => `${verb(one)} by ${maker(one)}`)
  return `was ${verb(last)} since: ${named.join(', ')}`
}

const maker = ({ actor, at }: VersionChange) => `${actor ?? 'nobody'} at ${at}`

/** The changes of each version, except for those made by the undone operations. */
export function versionChanges(
  plan: Plan,
  rows: readonly Row[],
  undone: ReadonlySet<string>,
  upcaster: Upcaster,
): VersionChange[] {
  const states = rows.map((row) => {
    const { version, kind, at, actor, operation, data, deletion } = sinceColumns.read(row)
    const snapshot = data === null ? undefined : new Snapshot(String(data), undefined, upcaster)
    return {
      version: Number(version),
      operation: String(operation),
      actor: actor === null ? null : String(actor),
      at: String(at),
      snapshot,
      deletion: snapshot && deletionAt(snapshot, kind === 'delete' ? operation : null, deletion),
    }
  })
  return states.flatMap(({ snapshot, deletion, ...made }, at): VersionChange[] => {
    const before = states[at - 1]
    if (undone.has(made.operation) || snapshot === undefined || before?.snapshot === undefined) return []
    const former = before.snapshot.state
    const columns = leavesOf(plan.type)
      .filter((leaf) => !isEqual(leaf.read(snapshot.state), leaf.read(former)))
      .map(({ column }) => column)
    if (deletion !== before.deletion) columns.push(DELETED)
    return [{ ...made, columns: new Set(columns), isDelete: deletion !== null }]
  })
}

/** The sentence for an obstacle. It reveals only what the caller may know. */
export function explainObstacle(obstacle: Obstacle, disclosure: Disclosure): string {
  if (obstacle.reason === 'forbidden') {
    const { action, path, entity } = obstacle
    if (action === 'write' && disclosure.field(entity, path))
      return `has a value in ${path} that you may not set`
    const done = { update: 'change', delete: 'delete', restore: 'restore', write: 'change' }[action]
    return `is not yours to ${done}`
  }
  if (obstacle.reason === 'unmet') {
    const { at, says } = obstacle.check
    return disclosure.field(obstacle.entity, at)
      ? `would break a check: ${at} ${says}`
      : `would break a check: ${says}`
  }
  const {
    reason,
    entity,
    columns,
    other: [type, otherId],
  } = obstacle
  const whose = reason === 'held' ? type : entity
  const seen = columns.filter((column) => disclosure.field(whose, column)).map(pathToShow)
  const place = seen.length === 0 ? '' : ` in ${seen.join('+')}`
  const other =
    disclosure.entity(type) && disclosure.values(whose, columns) ? `${type}/${otherId}` : 'something'
  return {
    gone: `refers to ${other}${place}, which was purged`,
    dead: `refers to ${other}${place}, which is deleted`,
    held: `is referred to by ${other}${place}`,
    taken: `has a value${place} that is taken by ${other}`,
    clash: `would have the same value${place} as ${other}, which must be unique`,
  }[reason]
}

/** The key of an e-mail address is shown as `email`. */
const pathToShow = (column: string) => (column === EMAIL_KEY ? 'email' : column)

/** Adds sentences to an Entity, up to the limit. */
export function addSentences(conflicts: Conflicts, name: string, sentences: readonly string[]): void {
  const known = conflicts.get(name) ?? []
  conflicts.set(name, known)
  for (const sentence of sentences)
    if (known.length < budget.namedConflicts && !known.includes(sentence)) known.push(sentence)
}
