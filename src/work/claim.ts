import type { StoreAct } from '../store/act.ts'
import { type Taken, type TaskStatements, takenOf, taskKey } from './task-statements.ts'

export interface Claimed {
  readonly taken: readonly Taken[]
  readonly parked: number
}

/** The minimum number of candidates to read: most of them may have to be parked. */
const CANDIDATES = 100

interface Candidate {
  readonly id: number
  readonly key: string | null
}

/**
 * Takes up to `most` due tasks of a queue, in order; of each key only the first unfinished one. The others are parked:
 * they have no `next_at` until the task before them is done, so that no instance reads them again and again.
 *
 * A task must not be parked behind one that is just being finished, or it would wait forever. So the first task of a
 * key is locked until the parking is committed. If it is already being finished, the candidate waits for the next look.
 */
export function* claim(
  statements: TaskStatements,
  { queue, most, me }: { queue: string; most: number; me: string },
): StoreAct<Claimed> {
  const params = { $queue: queue, $most: Math.max(most, CANDIDATES) }
  const found = yield { kind: 'read', statement: statements.candidates, params }
  const candidates = found.rows.map(([id, key]): Candidate => ({ id: Number(id), key: taskKey(key) }))
  const heads = yield* headsOf(statements, queue, candidates)
  const isFree = ({ id, key }: Candidate) => key === null || heads.get(key) === id
  const isBlocked = ({ id, key }: Candidate) => key !== null && (heads.get(key) ?? id) < id
  const blocked = candidates.filter(isBlocked)
  if (blocked.length > 0) yield { kind: 'write', steps: statements.park, params: { $ids: idsOf(blocked) } }
  const free = candidates.filter(isFree).slice(0, most)
  const taken = yield* take(statements, free, me)
  return { taken, parked: blocked.length }
}

function* take(
  statements: TaskStatements,
  tasks: readonly Candidate[],
  me: string,
): StoreAct<readonly Taken[]> {
  if (tasks.length === 0) return []
  const params = { $ids: idsOf(tasks), $lease_holder: me }
  const { rows } = yield { kind: 'write', steps: statements.take, params }
  const taken = new Map(rows.map((row) => [Number(row[0]), takenOf(row)]))
  return tasks.flatMap(({ id }) => taken.get(id) ?? [])
}

/** The first task of each key that these candidates have. */
function* headsOf(
  statements: TaskStatements,
  queue: string,
  candidates: readonly Candidate[],
): StoreAct<ReadonlyMap<string, number>> {
  const keys = [...new Set(candidates.flatMap(({ key }) => key ?? []))]
  if (keys.length === 0) return new Map()
  const $keys = JSON.stringify(keys.map((key) => [key]))
  const { rows } = yield { kind: 'read', statement: statements.heads, params: { $queue: queue, $keys } }
  return new Map(rows.map(([id, key]) => [String(key), Number(id)]))
}

function idsOf(tasks: readonly Candidate[]): string {
  return JSON.stringify(tasks.map(({ id }) => id))
}
