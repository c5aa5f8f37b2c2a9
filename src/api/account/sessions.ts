import type { JsonSchema } from '../../declare/fields/field.ts'
import { addError, type Errors, Failure } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { parseFlag } from '../query.ts'
import { chosenAccount } from './chosen-account.ts'

/** `GET /api/auth/sessions/` */
async function listOf(context: Context, { caller, query }: Call<'user'>): Promise<Answer> {
  const errors: Errors = new Map()
  const account = await chosenAccount(context, caller, query.take(errors).user, errors)
  const sessions = await context.sessions.list(account)
  const data = sessions.map(({ id, ...rest }) => ({ id, current: id === account.session, ...rest }))
  return { status: 200, body: JSON.stringify({ data }) }
}

/** `DELETE /api/auth/sessions/<id>/` */
async function endOne(context: Context, { caller, query, id, signal }: Call<'user'>): Promise<Answer> {
  const errors: Errors = new Map()
  const account = await chosenAccount(context, caller, query.take(errors).user, errors)
  if (!/^[\w-]{1,64}$/.test(id)) throw new Failure('not_found')
  const done = await context.sessions.end(account, id, signal)
  context.identities.forget()
  if (!done) throw new Failure('not_found')
  return { status: 204 }
}

/** `DELETE /api/auth/sessions/?others=1` */
async function endOthers(
  context: Context,
  { caller, query, signal }: Call<'user' | 'others'>,
): Promise<Answer> {
  const errors: Errors = new Map()
  const { user, others } = query.take(errors)
  if (!parseFlag('others', others, errors) && !errors.has('others'))
    addError(errors, 'others', 'must be 1: it ends all other sessions')
  const account = await chosenAccount(context, caller, user, errors)
  await context.sessions.endOthers(account, account.session, signal)
  context.identities.forget()
  return { status: 204 }
}

const time: JsonSchema = { type: 'string', format: 'date-time' }
const sessionSchema = closedObject(
  {
    id: { type: 'string', description: 'Names the session. It gives no access.' },
    current: { type: 'boolean', description: 'Whether it is the session that asks.' },
    how: { type: 'string', enum: ['password', 'passkey', 'provider'] },
    started_at: time,
    seen_at: { ...time, description: 'When it was last used, to within a few minutes.' },
    expires_at: { ...time, description: 'When its token expires, unless it is refreshed.' },
    address: {
      type: 'string',
      description: 'Of the login, or of the last refresh. Of IPv6, the /64 network.',
    },
    user_agent: { type: ['string', 'null'] },
  },
  ['id', 'current', 'how', 'started_at', 'seen_at', 'expires_at', 'address', 'user_agent'],
)
const sample = {
  id: 'Zk3VfZ0m1xJ8b2tq9aQyWg',
  current: true,
  how: 'password',
  started_at: '2026-06-02T17:00:00.000Z',
  seen_at: '2026-06-02T18:30:00.000Z',
  expires_at: '2026-06-03T17:00:00.000Z',
  address: '203.0.113.7',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
}

const common = { tag: SESSIONS, access: 'signed-in', ownLogin: true } as const
const ending = { answers: [{ status: 204, description: 'Ended.', headers: [] }] } as const

export const listSessions = serverEndpoint({
  ...common,
  name: 'listSessions',
  method: 'GET',
  path: '/api/auth/sessions/',
  parameters: ['user'],
  schemas: () => ({
    Session: sessionSchema,
    Sessions: closedObject({ data: { type: 'array', items: refTo('Session') } }, ['data']),
  }),
  describe: () => ({
    summary: 'List sessions',
    description: 'Where you are logged in, the newest first. Admins can ask for somebody else.',
    answers: [
      {
        status: 200,
        description: 'The sessions.',
        headers: [],
        schema: refTo('Sessions'),
        example: { data: [sample] },
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'not_found'],
  }),
  run: listOf,
})

export const endSession = serverEndpoint({
  ...common,
  name: 'endSession',
  method: 'DELETE',
  path: '/api/auth/sessions/{id}/',
  parameters: ['session', 'user'],
  answer: 'kept',
  describe: () => ({
    ...ending,
    summary: 'End a session',
    description: 'All of its tokens stop working at once. Admins can end sessions of somebody else.',
    codes: ['unauthenticated', 'forbidden', 'not_found', 'disk_full'],
  }),
  run: endOne,
})

export const endOtherSessions = serverEndpoint({
  ...common,
  name: 'endOtherSessions',
  method: 'DELETE',
  path: '/api/auth/sessions/',
  parameters: ['others', 'user'],
  answer: 'kept',
  describe: () => ({
    ...ending,
    summary: 'End all other sessions',
    description:
      'Ends all sessions but the one that asks. With `user`, admins end all sessions of somebody else.',
    query: '?others=1',
    codes: ['unauthenticated', 'forbidden', 'not_found', 'disk_full'],
  }),
  run: endOthers,
})
