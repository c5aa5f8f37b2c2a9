import type { App } from '../app.ts'
import { REACTIONS, type ReactionTask } from '../code/reaction-queue.ts'
import { StartError } from '../errors.ts'
import type { Command } from './arguments.ts'
import { helpOption, storeOptions } from './options.ts'
import { withApp } from './past.ts'

export const reactionsList: Command = {
  name: 'reactions list',
  usage: 'takeback reactions list [--json]',
  summary: 'Lists reactions that were set aside, and how many wait.',
  options: { json: { value: undefined, help: 'print JSON, for programs' }, ...storeOptions, ...helpOption },
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback reactions list does not take "${given.words[0]}".`)
    await withApp(given, async ({ context }) => {
      const { queues } = await context.work.state()
      const { waiting = 0, running = 0 } = queues[REACTIONS] ?? {}
      const aside = (await context.work.aside(REACTIONS)).map(({ payload, ...task }) => ({
        ...task,
        ...(payload as ReactionTask),
        task: task.id,
      }))
      if (given.text('json') !== undefined) return console.log(JSON.stringify({ waiting, running, aside }))
      for (const { task, reaction, entity, id, operation, since, attempts, error } of aside)
        console.log(
          `${task}  ${reaction}  ${entity}/${id}  operation ${operation}\n  set aside at ${since} after ${attempts} attempts: ${error ?? ''}`,
        )
      console.log(`${aside.length} set aside, ${waiting} waiting, ${running} running.`)
    })
  },
}

export const reactionsRetry: Command = {
  name: 'reactions retry',
  usage: 'takeback reactions retry <number …> | --all',
  summary: 'Retries reactions that were set aside. A running server runs them at once.',
  options: { all: { value: undefined, help: 'all that were set aside' }, ...storeOptions, ...helpOption },
  async run(given) {
    const all = given.text('all') !== undefined
    const ids = given.words.map(Number)
    if (all === ids.length > 0 || !ids.every(Number.isSafeInteger))
      throw new StartError(
        'Give the numbers that "takeback reactions list" shows, or --all: takeback reactions retry 7 9.',
      )
    await withApp(given, async (app) => {
      const retried = await retry(app, all ? undefined : ids)
      console.log(retried === 1 ? '1 reaction will be retried.' : `${retried} reactions will be retried.`)
    })
  },
}

async function retry({ context }: App, ids: readonly number[] | undefined): Promise<number> {
  const aside = await context.work.aside(REACTIONS)
  const unknown = ids?.find((id) => !aside.some((task) => task.id === id))
  if (unknown !== undefined) throw new StartError(`${unknown} is not set aside: nothing was changed.`)
  if (ids === undefined) return context.work.retryAside(REACTIONS)
  let retried = 0
  for (const id of ids) retried += await context.work.retry({ id, queue: REACTIONS, state: 'aside' })
  return retried
}
