import type { AccountId } from '../account/account-id.ts'
import type { AccessKey, AccessKeys } from '../account/keys.ts'
import { shownKey } from '../api/account/keys.ts'
import { budget } from '../budget.ts'
import { type Errors, invalid, StartError } from '../errors.ts'
import { parseUserName } from '../plan/viewer/actor.ts'
import type { Command, GivenArguments } from './arguments.ts'
import { confirm } from './confirm.ts'
import { endAll } from './ending.ts'
import { helpOption, keptConfigOf, storeOptions } from './options.ts'
import { withApp } from './past.ts'

export const keysList: Command = {
  name: 'keys list',
  usage: 'takeback keys list [--user users/3] [--json]',
  summary: 'Lists all keys: whose they are, when each was last used, what it may do.',
  options: {
    user: { value: 'users/3', help: 'only the keys of this user' },
    json: { value: undefined, help: 'print JSON, for programs' },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    if (given.words.length > 0) throw new StartError(`takeback keys list does not take "${given.words[0]}".`)
    await withApp(given, async ({ context: { keys, model } }) => {
      const user = given.text('user')
      const errors: Errors = new Map()
      const logins = model.logins.map(({ name }) => name)
      const owner = user === undefined ? undefined : parseUserName('user', user, logins, errors)
      if (errors.size > 0) throw invalid(errors)
      const all = await allKeys(keys, owner)
      if (given.text('json') !== undefined) return console.log(JSON.stringify(all.map(shownKey)))
      console.log(all.map(describedKey).join('\n') || 'There are no keys.')
    })
  },
}

async function allKeys(keys: AccessKeys, owner: AccountId | undefined): Promise<AccessKey[]> {
  const all: AccessKey[] = []
  for (;;) {
    const more = await keys.list(owner, { after: all.at(-1)?.id ?? 0, most: budget.stepRows })
    all.push(...more)
    if (more.length < budget.stepRows) return all
  }
}

function describedKey({ id, owner, name, can, limits, agent, last_used_at, expires_at }: AccessKey): string {
  const parts = [
    `keys/${id}`,
    `${owner.entity}/${owner.id}`,
    JSON.stringify(name),
    `last used ${last_used_at ?? 'never'}`,
    ...(expires_at === null ? [] : [`expires ${expires_at}`]),
    Object.keys(can).length === 0 ? 'may do what its user may' : `may ${JSON.stringify(can)}`,
    ...(Object.keys(limits).length === 0 ? [] : [`limits ${JSON.stringify(limits)}`]),
    ...(agent ? ['agent'] : []),
  ]
  return parts.join('  ')
}

export const keysEnd: Command = {
  name: 'keys end',
  usage: 'takeback keys end <key> | --all [--yes]',
  summary: 'Ends a key for good, or all of them, on running servers too.',
  options: {
    all: { value: undefined, help: 'end all keys: every program needs a new one' },
    yes: { value: undefined, help: 'do not ask' },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const [word = '', ...more] = given.words
    if (given.text('all') !== undefined && word === '') return confirmAndEndAll(given)
    const [, number] = /^(?:keys\/)?([1-9]\d{0,14})$/.exec(word) ?? []
    if (number === undefined || more.length > 0 || given.text('all') !== undefined)
      throw new StartError('Name one key, or all: takeback keys end keys/7, takeback keys end --all.')
    await withApp(given, async ({ context: { keys, store } }) => {
      const key = await keys.byId(Number(number))
      if (key === undefined) throw new StartError(`There is no keys/${number}.`)
      if (key.ended_at !== null) throw new StartError(`keys/${number} has ended already.`)
      await store.write([keys.end], { $key: key.id })
      console.log(`Ended keys/${key.id}, ${JSON.stringify(key.name)} of ${key.owner.entity}/${key.owner.id}.`)
    })
  },
}

async function confirmAndEndAll(given: GivenArguments): Promise<void> {
  const { database } = keptConfigOf(given)
  if (given.text('yes') === undefined && !(await confirm('End the keys of all programs for good?')))
    return console.log('Nothing was ended.')
  console.log(await endAll(database, 'keys'))
}
