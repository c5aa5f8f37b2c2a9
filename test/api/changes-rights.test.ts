import { expect, test } from 'bun:test'
import { boolean, entity, everyone, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { ADMIN, eventually, onEveryStore, TestServer } from '../harness.ts'
import { TestStream } from '../test-stream.ts'

/** A paper that is open, or that the rule shows. */
const paper = (rule: string) =>
  entity({
    fields: { title: text(), open: boolean(), team: ref('teams'), owner: ref('users') },
    access: { read: `open || ${rule}` },
  })

const papers = {
  by_role: paper('me.role == "boss"'),
  by_team: paper('team.members.exists(m, m.user.id == me.id)'),
  by_membership: paper('me.members.exists(m, m.team.id == team.id)'),
  by_chief: paper('owner.chief.id == me.id'),
}

const declaration = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { role: text({ optional: true }), chief: ref('users', { optional: true, onDelete: 'clear' }) },
    access: { read: 'id == me.id', update: 'id == me.id' },
  }),
  teams: entity({ fields: { title: text() }, access: { read: everyone } }),
  members: entity({
    fields: {
      team: ref('teams', { as: 'members' }),
      user: ref('users', { as: 'members', onDelete: 'cascade' }),
    },
  }),
  ...papers,
})
const types = Object.keys(papers)

/** A user who sees a paper of each type for one reason alone. */
interface Reader {
  readonly id: number
  readonly email: string
  readonly token: string
  readonly subordinate: number
  readonly member: number
  /** By type. */
  readonly papers: Readonly<Record<string, number>>
}

/** Prepares the end of a token. Returns what ends it, and the token of the stream if it is not the reader's own. */
type Ending = (reader: Reader) => Promise<{ token?: string; lose(): Promise<unknown> }>

/** The events of a stream about a paper: titles, and other types of events. */
function eventsOf(stream: TestStream, papers: Reader['papers'], type: string): string[] {
  return stream
    .of(types.indexOf(type))
    .filter(({ data }) => data.type === 'reset' || data.id === papers[type])
    .map(({ data }) => data.data?.title ?? data.type)
}

onEveryStore('a stream whose caller loses access', declaration, (server) => {
  let made = 0
  const make = async (type: string, body: object): Promise<number> =>
    (await server.expect(201, 'POST', `/api/${type}/`, body)).id
  const logIn = async (email: string): Promise<string> => {
    const login = { email, password: ADMIN.password }
    return (await server.expect(200, 'POST', '/api/auth/login', login, { token: null })).token
  }

  async function newReader(): Promise<Reader> {
    const number = ++made
    const email = `reader${number}@example.com`
    const { id, token } = await server.user('users', { email, role: 'boss' })
    const subordinate = await server.member('users', { email: `other${number}@example.com`, chief: { id } })
    const team = await make('teams', { title: 'team' })
    const member = await make('members', { team: { id: team }, user: { id } })
    const body = { title: 'first', open: false, team: { id: team }, owner: { id: subordinate } }
    const ids = await Promise.all(types.map(async (type) => [type, await make(type, body)]))
    return { id, email, token, subordinate, member, papers: Object.fromEntries(ids) }
  }

  /** Follows all types at every instance; returns the streams once they have sent each paper. */
  async function listen(
    all: readonly TestServer[],
    { papers }: Reader,
    token: string,
  ): Promise<TestStream[]> {
    const lists = types.map((entity) => ({ entity }))
    const streams = await Promise.all(all.map((one) => TestStream.open(one, { lists }, token)))
    await rename(papers, 'seen')
    for (const one of streams)
      for (const type of types) await eventually(() => eventsOf(one, papers, type).includes('seen'))
    return streams
  }

  const rename = (all: Reader['papers'], title: string) =>
    Promise.all(types.map((type) => server.expect(200, 'PATCH', `/api/${type}/${all[type]}/`, { title })))

  const act = async (method: string, path: string, token: string, body?: object) => {
    const { status } = await server.call(method, path, { token, ...(body !== undefined && { body }) })
    expect([path, status < 300]).toEqual([path, true])
  }

  const newKey = ({ token }: Reader) =>
    server.expect(201, 'POST', '/api/auth/keys/', { name: 'key' }, { token })
  const actAs = async ({ id }: Reader, token: string): Promise<string> =>
    (await server.expect(200, 'POST', '/api/auth/as/', { user: `users/${id}` }, { token })).token

  /** Ways to end a token. */
  const ends: Record<string, Ending> = {
    'a logout': async ({ token }) => ({ lose: () => act('POST', '/api/auth/logout', token) }),
    'a refresh': async ({ token }) => ({ lose: () => act('POST', '/api/auth/refresh', token) }),
    'the end of the session elsewhere': async ({ email }) => ({
      lose: async () => act('DELETE', '/api/auth/sessions/?others=1', await logIn(email)),
    }),
    'another password': async ({ email }) => ({
      lose: async () =>
        act('POST', '/api/auth/password', await logIn(email), {
          password: ADMIN.password,
          new_password: 'another long password',
        }),
    }),
    'a password that an admin sets': async ({ id }) => ({
      lose: () => server.expect(200, 'PATCH', `/api/users/${id}/`, { password: 'another long password' }),
    }),
    'the end of the user': async ({ id }) => ({
      lose: () => server.expect(200, 'DELETE', `/api/users/${id}/`),
    }),
    'the end of a key': async (reader) => {
      const { id, key } = await newKey(reader)
      return { token: key, lose: () => act('DELETE', `/api/auth/keys/${id}/`, reader.token) }
    },
    'the end of the user of a key': async (reader) => {
      const { key } = await newKey(reader)
      return { token: key, lose: () => server.expect(200, 'DELETE', `/api/users/${reader.id}/`) }
    },
    'the end of acting as the user': async (reader) => {
      const token = await actAs(reader, await logIn(ADMIN.email))
      return { token, lose: () => act('POST', '/api/auth/logout', token) }
    },
    'the end of the admin who acts as the user': async (reader) => {
      const admin = await server.user('admins', { email: `admin${++made}@example.com` })
      const lose = () => server.expect(200, 'DELETE', `/api/admins/${admin.id}/`)
      return { token: await actAs(reader, admin.token), lose }
    },
  }

  /** Ways to hide papers of types. */
  const hides: Record<string, { hidden: readonly string[]; lose(reader: Reader): Promise<unknown> }> = {
    'another role': {
      hidden: ['by_role'],
      lose: ({ id }) => server.expect(200, 'PATCH', `/api/users/${id}/`, { role: 'clerk' }),
    },
    'the end of a membership': {
      hidden: ['by_team', 'by_membership'],
      lose: ({ member }) => server.expect(200, 'DELETE', `/api/members/${member}/`),
    },
    'the purge of a membership': {
      hidden: ['by_team', 'by_membership'],
      lose: async ({ member }) => {
        await server.expect(200, 'DELETE', `/api/members/${member}/`)
        await server.expect(204, 'DELETE', `/api/members/${member}/?purge=1`)
      },
    },
    'another chief': {
      hidden: ['by_chief'],
      lose: ({ subordinate }) => server.expect(200, 'PATCH', `/api/users/${subordinate}/`, { chief: null }),
    },
  }

  /** Runs with a second instance on the same database. */
  async function withInstances(run: (all: readonly TestServer[]) => Promise<unknown>): Promise<void> {
    const other = new TestServer(server.store, declaration, {}, await server.database())
    other.adminToken = server.adminToken
    await other.start()
    try {
      await run([server, other])
    } finally {
      await other.stop()
    }
  }

  test('ends with the token, at every instance, and shows nothing that is written later', () =>
    withInstances((all) =>
      Promise.all(
        Object.entries(ends).map(async ([way, prepare]) => {
          const reader = await newReader()
          const { token = reader.token, lose } = await prepare(reader)
          const streams = await listen(all, reader, token)
          await lose()
          // Other instances may rely on what they know for half a second.
          for (const one of all)
            await eventually(async () => (await one.call('GET', '/api/auth/me', { token })).status === 401)
          const secret = `secret ${reader.id}.`
          await rename(reader.papers, secret)
          await eventually(() => streams.every(({ isOver }) => isOver))
          expect([way, ...streams.map(({ text }) => text.includes(secret))]).toEqual([way, false, false])
        }),
      ),
    ))

  test('goes on without what the rules hide, at every instance', () =>
    withInstances((all) =>
      Promise.all(
        Object.entries(hides).map(async ([way, { hidden, lose }]) => {
          const reader = await newReader()
          const streams = await listen(all, reader, reader.token)
          await lose(reader)
          await rename(reader.papers, 'secret')
          await Promise.all(
            types.map((type) =>
              server.expect(200, 'PATCH', `/api/${type}/${reader.papers[type]}/`, {
                title: 'last',
                open: true,
              }),
            ),
          )
          for (const type of types)
            for (const one of streams) {
              const events = () => eventsOf(one, reader.papers, type)
              await eventually(() => events().includes('last'))
              const isHidden = hidden.includes(type)
              const later = events().slice(events().indexOf('seen') + 1)
              const isGone = later.some((event) => /remove|reset/.test(event))
              expect([way, type, later.includes('secret')]).toEqual([way, type, !isHidden])
              if (isHidden) expect([way, type, isGone]).toEqual([way, type, true])
            }
          for (const one of streams) one.cut()
        }),
      ),
    ))
})
