import type { Edge } from '../src/declare/model.ts'
import { resolve } from '../src/declare/resolve.ts'
import { graph } from './declarations.ts'

export const { edges } = resolve(graph)
export const TYPES = ['companies', 'people', 'papers'] as const
export type Type = (typeof TYPES)[number]

export interface ModelEntity {
  readonly type: Type
  readonly id: number
  readonly name: string
  /** The targets of each path, in order: at most one, unless it is a list. */
  references: Record<string, readonly number[]>
  deletion: number | null
}

type Values = Pick<ModelEntity, 'references' | 'deletion'>

/** An Entity before and after an operation; `before` is undefined if it was created. */
interface Touched {
  readonly entity: ModelEntity
  readonly before: Values | undefined
  readonly after: Values
}

interface Operation {
  readonly id: string
  readonly at: string
  /** The number of its deletion; 0 if it deleted nothing. */
  readonly deletion: number
  readonly touched: readonly Touched[]
}

interface Cleared {
  readonly deletion: number
  readonly entity: ModelEntity
  readonly edge: Edge
  readonly target: number
  readonly place: number
  /** Whether somebody has set the reference since. */
  written: boolean
}

/** A plain model of what the server should do: no SQL, no sets, one Entity at a time. */
export class World {
  readonly entities: ModelEntity[] = []
  readonly operations: Operation[] = []
  #cleared: Cleared[] = []
  #operations = 0

  /** Runs something, and records it as an operation, if the server says that it was one. */
  async record(work: () => Promise<{ id: string; at: string }>): Promise<void> {
    const before = new Map(this.entities.map((entity) => [entity, copyOf(entity)]))
    const deletions = this.#operations
    const { id, at } = await work()
    const touched = this.entities.flatMap((entity): Touched[] => {
      const former = before.get(entity)
      if (former !== undefined && isSame(former, entity)) return []
      return [{ entity, before: former, after: copyOf(entity) }]
    })
    for (const one of this.#cleared) if (targetsOf(one.entity, one.edge).length > 0) one.written = true
    // An operation without deletions has no number of a deletion, and has cleared nothing.
    const deletion = this.#operations > deletions ? this.#operations : 0
    if (id !== '') this.operations.push({ id, at, deletion, touched })
  }

  /** Returns the expected status, and whether anything is written. Operations are given newest first. */
  undo(operations: readonly Operation[]): { status: number; written: boolean } {
    const entities = new Set(operations.flatMap(({ touched }) => touched.map(({ entity }) => entity)))
    const wanted = [...entities].map((entity) => {
      const versions = operations.flatMap(({ touched }) => touched.filter((one) => one.entity === entity))
      return { entity, now: copyOf(entity), next: this.#takeBack(entity, versions) }
    })
    if (wanted.some(({ next }) => next === 'conflict')) return { status: 409, written: false }
    const changes = wanted.flatMap(({ next, ...rest }) =>
      next === 'conflict' || isSame(next, rest.entity) ? [] : [{ ...rest, next }],
    )
    const operation = this.#operations + 1
    for (const { entity, next } of changes) {
      entity.references = next.references
      entity.deletion = next.deletion === ITSELF ? operation : next.deletion
    }
    if (!this.#isSound()) {
      for (const { entity, now } of changes) Object.assign(entity, now)
      return { status: 409, written: false }
    }
    this.#operations = operation
    const deletions = operations.map(({ deletion }) => deletion)
    this.#cleared = this.#cleared.filter(
      (one) => !deletions.includes(one.deletion) || !changes.some(({ entity }) => entity === one.entity),
    )
    for (const { entity, now } of changes) this.#keepCleared(entity, now, changes)
    return { status: 200, written: changes.length > 0 }
  }

  /** Records references that are cleared because their target is deleted, under the target's deletion. */
  #keepCleared(
    entity: ModelEntity,
    now: Values,
    changes: readonly { entity: ModelEntity; now: Values }[],
  ): void {
    for (const edge of this.edgesOf(entity.type)) {
      const after = targetsOf(entity, edge)
      // Only these references are cleared by a deletion, and set again by its restore.
      if (edge.onDelete !== 'clear' || (edge.list === undefined && after.length > 0)) continue
      for (const [place, target] of (now.references[edge.path] ?? []).entries()) {
        const gone = changes.find((one) => one.entity.type === edge.to && one.entity.id === target)
        const deletion = gone?.entity.deletion ?? null
        if (after.includes(target) || deletion === null || gone?.now.deletion === deletion) continue
        this.#cleared = this.#cleared.filter(
          (one) =>
            one.deletion !== deletion || one.entity !== entity || one.edge !== edge || one.target !== target,
        )
        this.#cleared.push({ deletion, entity, edge, target, place, written: false })
      }
    }
  }

  /** Each value goes back if it is as the version left it, stays if it is back already, and is a conflict otherwise. */
  #takeBack(entity: ModelEntity, versions: readonly Touched[]): Values | 'conflict' {
    const next = copyOf(entity)
    for (const [at, { before, after }] of versions.entries()) {
      const isFurther = (value: unknown, read: (one: Values) => unknown) =>
        versions.slice(at + 1).some((one) => {
          if (one.before === undefined) return false
          const [from, to] = [read(one.before), read(one.after)]
          return Bun.deepEquals(value, from) && !Bun.deepEquals(from, to)
        })
      const differs = (path: string) =>
        !Bun.deepEquals(next.references[path] ?? [], after.references[path] ?? [])
      const paths = this.edgesOf(entity.type).map(({ path }) => path)
      if (before === undefined) {
        if (next.deletion === null && paths.some(differs)) return 'conflict'
        next.references = { ...entity.references }
        if (next.deletion !== null) continue
        next.deletion = entity.deletion ?? ITSELF
        continue
      }
      const isBack = next.deletion === before.deletion || (after.deletion === null && next.deletion !== null)
      if (before.deletion !== after.deletion && !isBack) {
        const isOther = next.deletion !== after.deletion
        const stays = isOther && isFurther(next.deletion, ({ deletion }) => deletion)
        if (isOther && !stays) return 'conflict'
        if (!stays) next.deletion = before.deletion
      }
      for (const path of paths) {
        const [from, to] = [before.references[path] ?? [], after.references[path] ?? []]
        if (Bun.deepEquals(from, to) || Bun.deepEquals(from, next.references[path] ?? [])) continue
        const own = next.references[path] ?? []
        if (differs(path) && isFurther(own, ({ references }) => references[path] ?? [])) continue
        if (differs(path)) return 'conflict'
        next.references[path] = from
      }
    }
    return next
  }

  /** Whether live Entities refer only to live Entities, and unique names are unique. */
  #isSound(): boolean {
    const live = this.entities.filter(({ deletion }) => deletion === null)
    const names = live.filter(({ type }) => type !== 'people').map(({ type, name }) => `${type} ${name}`)
    return (
      new Set(names).size === names.length &&
      live.every((entity) =>
        this.edgesOf(entity.type).every((edge) =>
          targetsOf(entity, edge).every((target) => this.find(edge.to, target)?.deletion === null),
        ),
      )
    )
  }

  find(type: string, id: number | null | undefined): ModelEntity | undefined {
    return this.entities.find((entity) => entity.type === type && entity.id === id)
  }

  edgesOf(type: string): Edge[] {
    return edges.filter((edge) => edge.from === type)
  }

  /** Returns everything that depends on Entities by cascades, as far as `reaches` allows. */
  extent(roots: readonly ModelEntity[], reaches: (entity: ModelEntity) => boolean): ModelEntity[] {
    const found = [...roots]
    for (const one of found)
      for (const edge of edges.filter(({ to, onDelete }) => to === one.type && onDelete === 'cascade'))
        for (const entity of this.entities)
          if (
            entity.type === edge.from &&
            targetsOf(entity, edge).includes(one.id) &&
            reaches(entity) &&
            !found.includes(entity)
          )
            found.push(entity)
    return found
  }

  remove(...entities: readonly ModelEntity[]): number {
    const roots = entities.filter(({ deletion }) => deletion === null)
    if (roots.length === 0) return 200
    const extent = this.extent(roots, ({ deletion }) => deletion === null)
    const outside = this.entities.filter((entity) => entity.deletion === null && !extent.includes(entity))
    const pointing = outside.flatMap((entity) =>
      this.edgesOf(entity.type).flatMap((edge) =>
        targetsOf(entity, edge).flatMap((target, place) =>
          extent.some(({ type, id }) => type === edge.to && id === target)
            ? [{ entity, edge, target, place }]
            : [],
        ),
      ),
    )
    if (pointing.some(({ edge }) => edge.onDelete === 'restrict')) return 409
    const deletion = ++this.#operations
    for (const entity of extent) entity.deletion = deletion
    for (const one of pointing) {
      const { entity, edge, target } = one
      this.#cleared.push({ deletion, ...one, written: false })
      entity.references[edge.path] = targetsOf(entity, edge).filter((id) => id !== target)
    }
    return 200
  }

  restore(root: ModelEntity): number {
    const { deletion } = root
    if (deletion === null) return 200
    const extent = this.extent([root], (entity) => entity.deletion === deletion)
    const dead = extent.some((entity) =>
      this.edgesOf(entity.type).some((edge) =>
        targetsOf(entity, edge).some((id) => {
          const target = this.find(edge.to, id)
          return target !== undefined && target.deletion !== null && !extent.includes(target)
        }),
      ),
    )
    if (dead) return 409
    const taken = extent.some(
      ({ type, name }) =>
        type !== 'people' &&
        this.entities.some((other) => other.type === type && other.name === name && other.deletion === null),
    )
    if (taken) return 422
    const back = this.#cleared.filter(
      ({ deletion: by, edge, target }) =>
        by === deletion && extent.some(({ type, id }) => type === edge.to && id === target),
    )
    this.#cleared = this.#cleared.filter((one) => !back.includes(one))
    for (const { entity, edge, target, place, written } of back.sort((a, b) => a.place - b.place)) {
      if (written && edge.list === undefined) continue
      const now = targetsOf(entity, edge)
      const most = edge.list === undefined ? 1 : (edge.list.max ?? Number.POSITIVE_INFINITY)
      if (now.length < most && !now.includes(target))
        entity.references[edge.path] = now.toSpliced(place, 0, target)
    }
    for (const entity of extent) entity.deletion = null
    return 200
  }
}

function targetsOf(entity: ModelEntity, { path }: Edge): readonly number[] {
  return entity.references[path] ?? []
}

/** Deleted by the undo that is under way. */
const ITSELF = -1

function copyOf({ references, deletion }: Values) {
  return { references: { ...references }, deletion }
}

function isSame(a: Values, b: Values): boolean {
  const paths = [...Object.keys(a.references), ...Object.keys(b.references)]
  return (
    a.deletion === b.deletion &&
    paths.every((path) => Bun.deepEquals(a.references[path] ?? [], b.references[path] ?? []))
  )
}
