import type { Model } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { type Leaf, leavesOf } from '../../journal/leaves.ts'
import { changeTo, type Now, type Reversal } from '../../journal/reversal.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Obstacle } from '../../plan/past/obstacle.ts'
import type { Act } from '../../store/act.ts'
import type { Context } from '../context.ts'
import { statesOf } from '../past/states.ts'

/** Entities that refer to those to be deleted. They are deleted too, or their reference is cleared, as declared. */
export class Dependents {
  readonly #gone = new Set<string>()
  /** The ids to remove from references, by Entity and column. */
  readonly #emptied = new Map<string, Map<string, Set<number>>>()

  /** Takes the obstacles that it can remove, and returns the rest. */
  add(obstacles: readonly Obstacle[], { edges }: Model): Obstacle[] {
    return obstacles.filter((obstacle) => {
      if (obstacle.reason !== 'held') return true
      const { entity, id, columns, other } = obstacle
      const [column = ''] = columns
      const edge = edges.find((one) => one.from === other[0] && one.column === column && one.to === entity)
      const name = other.join('/')
      if (edge === undefined || this.#gone.has(name)) return true
      const clears = edge.onDelete === 'clear' && (edge.list?.min ?? 0) === 0
      if (clears) return !this.#empty(name, column, id)
      this.#gone.add(name)
      return false
    })
  }

  /** Returns whether the id was not there before. */
  #empty(name: string, column: string, id: number): boolean {
    const columns = this.#emptied.get(name) ?? new Map<string, Set<number>>()
    this.#emptied.set(name, columns)
    const ids = columns.get(column) ?? new Set()
    columns.set(column, ids)
    if (ids.has(id)) return false
    ids.add(id)
    return true
  }

  *reversals(context: Context): Act<Reversal[]> {
    const names = [...new Set([...this.#gone, ...this.#emptied.keys()])].map((name) => {
      const [entity = '', id = ''] = name.split('/')
      return { entity, id: Number(id), name }
    })
    if (names.length === 0) return []
    const states = yield* statesOf(context, names)
    return names.flatMap(({ entity, name }): Reversal[] => {
      const [plan, now] = [context.plans.get(entity), states.get(name)]
      if (plan === undefined || now === undefined) return []
      if (this.#gone.has(name)) return [changeTo(plan, now, 'delete')]
      return [changeTo(plan, now, this.#without(plan, now, name))]
    })
  }

  #without({ type }: Plan, { snapshot }: Now, name: string): Map<Leaf, unknown> {
    const values = new Map<Leaf, unknown>()
    for (const [column, ids] of this.#emptied.get(name) ?? []) {
      const leaf = leavesOf(type).find((one) => one.column === column)
      const value = leaf?.read(snapshot.state)
      if (leaf === undefined || value === null || value === undefined) continue
      if (!Array.isArray(value)) {
        if (ids.has(Number(value))) values.set(leaf, null)
      } else
        values.set(
          leaf,
          value.filter((one) => !isRecord(one) || !ids.has(Number(one.id))),
        )
    }
    return values
  }
}
