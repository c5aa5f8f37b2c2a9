import { RETENTION, Retention } from '../api/past/retention.ts'
import { StartError } from '../errors.ts'
import type { Command } from './arguments.ts'
import { confirm } from './confirm.ts'
import { helpOption, storeOptions } from './options.ts'
import { withApp } from './past.ts'

export const retentionConfirm: Command = {
  name: 'retention confirm',
  usage: 'takeback retention confirm [--yes]',
  summary: 'Confirms that the clock is right, after a jump has stopped retention.',
  options: { yes: { value: undefined, help: 'do not ask' }, ...storeOptions, ...helpOption },
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback retention confirm does not take "${given.words[0]}".`)
    const now = new Date().toISOString()
    console.log(`The clock of this machine says ${now}.`)
    if (
      given.text('yes') === undefined &&
      !(await confirm('Is that right? Data that is too old by this clock will be erased.'))
    )
      return console.log('Nothing was confirmed.')
    await withApp(given, async ({ context }) => {
      await new Retention(context).confirm()
      await context.work.bringForward(RETENTION)
      console.log('Confirmed. Retention continues within ten minutes, or at the next start.')
    })
  },
}
