import { jobStates, jobWork } from '../api/system/jobs.ts'
import type { App } from '../app.ts'
import { jobsOf } from '../code/jobs.ts'
import { didYouMean } from '../declare/closest.ts'
import { StartError } from '../errors.ts'
import type { Command } from './arguments.ts'
import { helpOption, storeOptions } from './options.ts'
import { withApp } from './past.ts'

export const jobsList: Command = {
  name: 'jobs list',
  usage: 'takeback jobs list [--json]',
  summary: 'Lists the jobs: when each last ran, how that went, and when it runs next.',
  options: { json: { value: undefined, help: 'print JSON, for programs' }, ...storeOptions, ...helpOption },
  async run(given) {
    if (given.words.length > 0) throw new StartError(`takeback jobs list does not take "${given.words[0]}".`)
    await withApp(given, async (app) => {
      const { context } = app
      for (const job of jobsOf(context)) context.work.add(job)
      const all = await jobStates(context)
      if (given.text('json') !== undefined) return console.log(JSON.stringify(all))
      for (const { name, every, zone, last, next, error } of all) {
        console.log(`${name}  ${every} (${zone})  last ${last ?? 'never'}  next ${next ?? 'running now'}`)
        if (error !== null) console.log(`  failed: ${error}`)
      }
      if (all.length === 0) console.log('The declaration has no jobs.')
    })
  },
}

export const jobsRun: Command = {
  name: 'jobs run',
  usage: 'takeback jobs run <name>',
  summary: 'Runs a job now, here or in a running server, and waits for its end.',
  options: { ...storeOptions, ...helpOption },
  async run(given) {
    const [name, ...more] = given.words
    if (name === undefined || more.length > 0) throw new StartError('Name one job: takeback jobs run <name>.')
    await withApp(given, async (app) => {
      await runNow(app, name)
      console.log(`${name} has run.`)
    })
  },
}

const LOOK_MS = 100

/** Makes the job due, and waits until it is done: by this process, unless a server takes it first. */
export async function runNow({ context }: App, name: string): Promise<void> {
  const { jobs } = context.model.code
  const job = jobsOf(context).find((one) => one.name === jobWork(name))
  if (job === undefined) {
    const names = jobs.map((one) => one.name)
    const known = names.length === 0 ? 'the declaration has none' : `there are: ${names.join(', ')}`
    throw new StartError(`There is no job "${name}"${didYouMean(name, names)} (${known}).`)
  }
  const read = async () => (await context.work.state()).recurring[job.name]
  context.work.add(job)
  context.work.start()
  let before = await read()
  for (; before === undefined; before = await read()) await Bun.sleep(LOOK_MS)
  if (before.holder !== null) throw new StartError(`${name} is running already, on ${before.holder}.`)
  await context.work.bringForward(job.name)
  let after = await read()
  for (; after === undefined || after.holder !== null || after.last === before.last; after = await read())
    await Bun.sleep(LOOK_MS)
  await context.work.stop()
  if (after.message !== null) throw new StartError(`${name} has failed: ${after.message}`)
}
