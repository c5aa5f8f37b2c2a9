import type { AccountId } from '../account/account-id.ts'
import { codeAccount } from '../account/second-factors.ts'
import { loginAccount } from '../account/throttle.ts'
import type { App } from '../app.ts'
import { emailKey } from '../declare/email-key.ts'
import { StartError } from '../errors.ts'
import { memberColumns } from '../plan/read/login.ts'
import { EMAIL_KEY } from '../plan/tables/schema.ts'
import type { Command } from './arguments.ts'
import { helpOption, storeOptions } from './options.ts'
import { withApp } from './past.ts'
import { loginType } from './user.ts'

export const userUnlock: Command = {
  name: 'user unlock',
  usage: 'takeback user unlock <entity> <email> [--remove-second-factor]',
  summary: 'Resets the failed logins of an account, so that nobody has to wait.',
  options: {
    'remove-second-factor': {
      value: undefined,
      help: 'also remove the second factor and the passkeys, for somebody who has lost them',
    },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const [entity, email, ...more] = given.words
    if (entity === undefined || email === undefined || more.length > 0)
      throw new StartError('Name a type and an e-mail: takeback user unlock <entity> <email>.')
    await withApp(given, async (app) => {
      const { context } = app
      const key = emailKey(email)
      const type = loginType(app, entity)
      const plan = context.plans.get(type.name)
      const [row] =
        plan?.login === undefined ? [] : await context.store.read(plan.login.byEmail, { [EMAIL_KEY]: key })
      if (row === undefined) throw new StartError(`There is no ${email} among the ${entity}.`)
      const id = Number(memberColumns.read(row).id)
      await context.throttle.unlock(loginAccount(type, key))
      await context.throttle.unlock(codeAccount({ entity, id }))
      if (given.text('remove-second-factor') !== undefined) await removeFactors(app, { entity, id })
      console.log(
        `Unlocked ${entity}/${id}. In the log, its logins show the account ${context.digestOf(key)}.`,
      )
    })
  },
}

/** Removes passkeys too: if a second factor is required, they count as one. */
async function removeFactors({ context }: App, owner: AccountId): Promise<void> {
  const removed = await context.factors.remove(owner)
  const passkeys = await context.passkeys.removeAll(owner)
  const what = [
    ...(removed ? ['the second factor'] : []),
    ...(passkeys > 0 ? [passkeys === 1 ? '1 passkey' : `${passkeys} passkeys`] : []),
  ]
  console.log(
    what.length === 0
      ? 'There was no second factor and no passkey to remove.'
      : `Removed ${what.join(' and ')}.`,
  )
}
