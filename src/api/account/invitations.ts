import { hasWorkingLink, type Invitation, isInvitationOpen } from '../../account/invitations.ts'
import { type AccountState, accountState } from '../../account/links.ts'
import { addError, type Errors, invalid, invalidAt } from '../../errors.ts'
import { parseUserName, system } from '../../plan/viewer/actor.ts'
import { taskParams } from '../../work/queues.ts'
import type { Call } from '../call.ts'
import { type Answer, type Context, callerParams } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { limitOf } from '../read/list.ts'
import { countMail, messageAnswer, refuseOthers, someMessage } from './account-link.ts'
import { takeText } from './login.ts'
import { mailInTurn } from './mail-queue.ts'

/** `GET /api/auth/invitations/`: lists the invited users who have not set a password. */
async function listInvitations(context: Context, { query }: Call<'limit' | 'cursor'>): Promise<Answer> {
  const errors: Errors = new Map()
  const given = query.take(errors)
  const limit = limitOf(given.limit, errors)
  const after = openUserCursor(given.cursor, errors)
  if (errors.size > 0) throw invalid(errors)
  const found = await context.invitations.after(after, limit + 1)
  const shown = found.slice(0, limit)
  const states = await Promise.all(shown.map((one) => stateIfOpen(context, one)))
  const data = shown.flatMap((one, at) => {
    const state = states[at]
    if (state === undefined) return []
    return [{ user: `${one.entity}/${one.id}`, expires_at: one.until, expired: !hasWorkingLink(one, state) }]
  })
  const last = found.length > limit ? shown.at(-1) : undefined
  const next = last === undefined ? null : `${last.entity}/${last.id}`
  return { status: 200, body: JSON.stringify({ data, next }) }
}

function openUserCursor(text: string | undefined, errors: Errors): { entity: string; id: number } {
  const [, entity = '', id = '0'] = /^([a-z][a-z0-9_]*)\/([1-9]\d{0,15})$/.exec(text ?? '') ?? []
  if (text !== undefined && entity === '') addError(errors, 'cursor', 'is not a cursor of this list')
  return { entity, id: Number(id) }
}

/** Undefined if the invited user is gone, or has set a password since. */
async function stateIfOpen(
  { plans, store }: Context,
  invitation: Invitation,
): Promise<AccountState | undefined> {
  const login = plans.get(invitation.entity)?.login
  const [row] =
    login === undefined ? [] : await store.read(login.self, { ...callerParams(system), $id: invitation.id })
  if (login === undefined || row === undefined) return undefined
  const state = accountState(login.readSelf(row))
  return isInvitationOpen(invitation, state) ? state : undefined
}

/** `POST /api/auth/invitations/` `{user}`: sends another mail, whose link replaces the former one. */
async function sendInvitation(context: Context, { body, address }: Call): Promise<Answer> {
  const errors: Errors = new Map()
  refuseOthers(body, ['user'], errors)
  const named = takeText(body as Record<string, unknown>, 'user', errors)
  const names = context.model.logins.map(({ name }) => name)
  const user = named === '' ? undefined : parseUserName('user', named, names, errors)
  if (errors.size > 0 || user === undefined) throw invalid(errors)
  const found = await context.invitations.of(user)
  const state = found && (await stateIfOpen(context, found))
  if (state === undefined) throw invalidAt('user', 'has no open invitation')
  await countMail(context, address, `invite ${state.key}`, async () => {
    await context.store.write([context.work.enqueue], taskParams([mailInTurn({ mail: 'invite', ...user })]))
  })
  context.work.wake()
  return messageAnswer('A new invitation is on its way.')
}

const invitation = closedObject(
  {
    user: { type: 'string' },
    expires_at: { type: 'string', format: 'date-time' },
    expired: { type: 'boolean', description: 'Whether the link no longer works.' },
  },
  ['user', 'expires_at', 'expired'],
)
const open = { tag: SESSIONS, path: '/api/auth/invitations/', access: 'admins', ownLogin: true } as const

export const readInvitations = serverEndpoint({
  ...open,
  name: 'listInvitations',
  method: 'GET',
  parameters: ['limit', 'cursor'],
  schemas: () => ({
    Invitation: invitation,
    Invitations: closedObject(
      { data: { type: 'array', items: refTo('Invitation') }, next: { type: ['string', 'null'] } },
      ['data', 'next'],
    ),
    InvitationAgain: closedObject({ user: { type: 'string' } }, ['user']),
  }),
  describe: () => ({
    summary: 'List open invitations',
    description: 'Users who were invited and have not set a password yet. Only for admins.',
    answers: [
      {
        status: 200,
        description: 'The invitations.',
        headers: [],
        schema: refTo('Invitations'),
        example: {
          data: [{ user: 'users/5', expires_at: '2026-06-02T17:00:00.000Z', expired: false }],
          next: null,
        },
      },
    ],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: listInvitations,
})

export const inviteAgain = serverEndpoint({
  ...open,
  name: 'inviteAgain',
  method: 'POST',
  parameters: [],
  body: 'object',
  answer: 'kept',
  describe: () => ({
    summary: 'Send an invitation again',
    description:
      'Mails a new link, which replaces the one before, to a user who was invited and has not set a password yet. Only for admins.',
    body: { schema: refTo('InvitationAgain'), example: { user: 'users/5' } },
    answers: [{ status: 200, description: 'The user gets a mail.', headers: [], schema: someMessage }],
    codes: ['unauthenticated', 'forbidden', 'too_many_attempts', 'disk_full'],
  }),
  run: sendInvitation,
})
