import type { Context } from '../api/context.ts'
import { budget } from '../budget.ts'
import type { ReactionType } from '../declare/model.ts'
import type { State } from '../journal/leaves.ts'
import { refuseDropped } from '../work/job.ts'
import type { Queue, TaskJob } from '../work/queues.ts'
import { apiOf } from './api.ts'
import { CodeFailed } from './guard.ts'
import { untilAborted } from './jobs.ts'

/** The name of the queue, the cursors and the actors of reactions. */
export const REACTIONS = 'reactions'

/** A change to react to. Its values are only in the journal. */
export interface ReactionTask {
  readonly reaction: string
  readonly entity: string
  readonly id: number
  readonly version: number
  readonly operation: string
}

export function reactionQueue(context: Context): Queue {
  return { name: REACTIONS, run: (job) => runReaction(context, job) }
}

async function runReaction(context: Context, job: TaskJob): Promise<void> {
  const task = job.payload as ReactionTask
  refuseDropped(task.entity)
  const reaction = context.model.code.reactions.find(({ name }) => name === task.reaction)
  // An instance with another declaration may know the reaction.
  if (reaction === undefined) throw new Error(`The declaration here has no reaction ${task.reaction}.`)
  const change = await changeOf(context, task)
  if (change === undefined) return
  const until = AbortSignal.timeout(budget.reactionMs)
  const signal = AbortSignal.any([job.signal, until])
  const actor = { kind: 'reaction', name: reaction.name, cause: task.operation } as const
  const caller = { actor, session: undefined, expired: false }
  const api = apiOf({ ...context, store: job.store }, { caller, signal, depth: 1 })
  const call = { ...change, id: task.id, api, signal, attempt: job.attempt }
  try {
    await untilAborted(signal, () => reaction.run(call))
  } catch (error) {
    // If the values were erased meanwhile, the message must not keep them.
    if ((await changeOf(context, task)) === undefined) return
    throw job.signal.aborted ? error : new CodeFailed(nameOf(reaction, task), error)
  }
}

function nameOf({ name }: ReactionType, { entity, id }: ReactionTask): string {
  return `${REACTIONS}.${name} of ${entity}/${id}`
}

/** Returns the change in the present form; undefined if its values were erased: then there is nothing to react to. */
async function changeOf(context: Context, task: ReactionTask): Promise<object | undefined> {
  const { entity, id, version, operation } = task
  const found = await context.feed.change(entity, id, version)
  if (found === undefined || (found.kind !== 'purge' && found.data === null)) return undefined
  const { kind, at, actor, cause, data, before } = found
  const upcaster = context.upcasterOf(entity)
  const read = (json: string | null) => (json === null ? null : upcaster.upcast(JSON.parse(json) as State))
  return {
    kind,
    before: kind === 'purge' || kind === 'create' ? null : read(before),
    after: kind === 'purge' ? null : read(data),
    operation: { id: operation, at, actor, cause },
  }
}
