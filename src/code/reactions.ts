import type { Context } from '../api/context.ts'
import { budget } from '../budget.ts'
import type { ReactionType } from '../declare/model.ts'
import type { FeedChange, FeedOperation } from '../journal/feed.ts'
import { Follower } from '../live/follower.ts'
import { operationColumns } from '../plan/past/operations.ts'
import type { Row } from '../store/dialect.ts'
import type { Task } from '../work/queues.ts'
import { REACTIONS, type ReactionTask } from './reaction-queue.ts'

/**
 * One follower for each type with reactions. Each makes tasks from the changes of its type, once and in order. Each has
 * its own cursor, so that the first reaction of a type begins when it is declared.
 */
export function reactionFollowers(context: Context): Follower[] {
  return [...reactingTypes(context)].map((entity) => {
    const changes = new ReactingChanges(context, entity)
    return new Follower(context, {
      name: cursorOf(entity),
      queue: REACTIONS,
      unbounded: true,
      entities: [entity],
      tasksOf: (operation) => changes.tasksOf(operation),
    })
  })
}

/** If reactions of a type are declared again long afterwards, they begin then, not where they once stopped. */
export async function dropFormerCursors(context: Context): Promise<void> {
  await context.cursors.dropIdle(`${REACTIONS}/`, [...reactingTypes(context)].map(cursorOf))
}

function reactingTypes({ model }: Context): Set<string> {
  return new Set(model.code.reactions.map(({ entity }) => entity))
}

function cursorOf(entity: string): string {
  return `${REACTIONS}/${entity}`
}

/** How many depths of operations are remembered. */
const DEPTHS = 1000

/** Makes tasks from the changes of one type. */
class ReactingChanges {
  readonly #context: Context
  readonly #reactions: readonly ReactionType[]
  readonly #entities: readonly [string]
  readonly #depths = new Map<string, number>()

  constructor(context: Context, entity: string) {
    this.#context = context
    this.#reactions = context.model.code.reactions.filter((one) => one.entity === entity)
    this.#entities = [entity]
  }

  async tasksOf(operation: FeedOperation): Promise<readonly Task[]> {
    if (await this.#isLoop(operation)) return []
    const tasks: Task[] = []
    for await (const change of this.#changesOf(operation)) tasks.push(...this.#tasksFor(operation.id, change))
    return tasks
  }

  async *#changesOf({ id, changes, rest }: FeedOperation): AsyncGenerator<FeedChange> {
    yield* changes
    for (let next = rest; next !== null; ) {
      const more = await this.#context.feed.changes(id, next, this.#entities)
      yield* more.changes
      next = more.rest
    }
  }

  #tasksFor(operation: string, { entity, id, version, kind }: FeedChange): Task[] {
    return this.#reactions
      .filter((one) => one.kinds.some((known) => known === kind))
      .map(({ name }) => ({
        queue: REACTIONS,
        // Changes of one Entity run one after another. If one is stuck, other Entities go on.
        key: `${entity}/${id}`,
        payload: { reaction: name, entity, id: Number(id), version, operation } satisfies ReactionTask,
      }))
  }

  /** Whether reactions have caused each other too often. */
  async #isLoop({ id, actor, cause }: FeedOperation): Promise<boolean> {
    if (cause === null) return false
    const depth = (await this.#depthOf(cause)) + 1
    if (this.#depths.size >= DEPTHS) this.#depths.clear()
    this.#depths.set(id, depth)
    if (depth < budget.codeDepth) return false
    this.#context.observer.emit({ kind: 'reaction_loop', actor: actor ?? '', operation: id })
    return true
  }

  /** How many operations led to this one, each caused by the one before. */
  async #depthOf(id: string): Promise<number> {
    const known = this.#depths.get(id)
    if (known !== undefined) return known
    const { store, operations } = this.#context
    let depth = 0
    for (let next: string | null = id; next !== null && depth <= budget.codeDepth; depth++) {
      const rows: readonly Row[] = await store.read(operations.byId, { $operation: next })
      const cause = rows.map(operationColumns.read)[0]?.cause ?? null
      next = cause === null ? null : String(cause)
    }
    return depth - 1
  }
}
