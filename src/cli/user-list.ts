import type { App } from '../app.ts'
import type { EntityType } from '../declare/model.ts'
import { StartError } from '../errors.ts'
import { accountColumns } from '../plan/read/login.ts'
import type { Command } from './arguments.ts'
import { helpOption, storeOptions } from './options.ts'
import { planOf, withApp } from './past.ts'
import { loginType } from './user.ts'

export const userList: Command = {
  name: 'user list',
  usage: 'takeback user list <entity> [--unverified] [--json]',
  summary: 'Lists the users of a login type, and whose e-mail address is confirmed.',
  options: {
    unverified: { value: undefined, help: 'only those whose address is not confirmed' },
    json: { value: undefined, help: 'print JSON, for programs' },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const [entity, ...more] = given.words
    if (entity === undefined || more.length > 0)
      throw new StartError('Name a type: takeback user list <entity>.')
    const isWanted = ({ verified }: ListedUser) =>
      given.text('unverified') === undefined || verified === false
    await withApp(given, async (app) => {
      const type = loginType(app, entity)
      let shown = 0
      for await (const page of userPages(app, type))
        for (const user of page.filter(isWanted)) {
          shown++
          console.log(given.text('json') === undefined ? shownUser(user) : JSON.stringify(user))
        }
      if (shown === 0 && given.text('json') === undefined) console.log('There are none.')
    })
  },
}

interface ListedUser {
  readonly user: string
  readonly email: string
  readonly created_at: string
  /** Present for types with `verify`. */
  readonly verified?: boolean
}

async function* userPages(app: App, { name, login: declared }: EntityType): AsyncGenerator<ListedUser[]> {
  const { store, verified } = app.context
  const { login } = planOf(app, name)
  for (let after = 0; login !== undefined; ) {
    const rows = (await store.read(login.accounts, { $after: after })).map(accountColumns.read)
    if (rows.length === 0) return
    const accounts = rows.map(({ id, key }) => ({ id: Number(id), key: String(key) }))
    const proved = declared?.verify === true ? await verified.among(name, accounts) : undefined
    yield rows.map(({ id, email, created }) => ({
      user: `${name}/${id}`,
      email: String(email),
      created_at: new Date(String(created)).toISOString(),
      ...(proved !== undefined && { verified: proved.has(Number(id)) }),
    }))
    after = Number(rows.at(-1)?.id)
  }
}

function shownUser({ user, email, created_at, verified }: ListedUser): string {
  const state = verified === undefined ? [] : [verified ? 'confirmed' : 'not confirmed']
  return [user, email, `since ${created_at}`, ...state].join('  ')
}
