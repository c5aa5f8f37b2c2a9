import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'
import { type Caller, userOf } from '../../plan/viewer/actor.ts'
import { type Answer, type Context, signInFirst } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { badToken } from './identify.ts'

/** How long a used ticket is remembered: longer than it is valid, even if a clock is set back. */
const USED_MS = 24 * 60 * 60 * 1000

/** `POST /api/auth/ticket/`: a ticket replaces a token in a URL. Others may read a URL, so a ticket works only once. */
async function ticket({ tokens }: Context, { actor, session }: Caller): Promise<Answer> {
  if (actor.kind === 'key') throw new Failure('own_login_required')
  const user = userOf(actor)
  if (user === undefined || session === undefined) throw signInFirst()
  const { entity, id } = user
  const { token, expiresAt } = await tokens.issueTicket({ entity, id, session })
  return { status: 201, body: JSON.stringify({ ticket: token, expires_at: expiresAt }) }
}

/** Returns the caller whom a ticket stands for. Throws if it was used, or if the token that it stands for has ended. */
export async function redeemTicket(context: Context, text: string, signal: AbortSignal): Promise<Caller> {
  const { tokens, identities, serviceTime, sessions, store } = context
  const found = await tokens.verifyTicket(text)
  if (found === undefined) throw badToken()
  const caller = await identities.callerOf(found.claims)
  if (caller.expired) throw new Failure('password_change_required')
  if (caller.lacksFactor) throw new Failure('second_factor_setup_required')
  const used = {
    $session: found.claims.session.id,
    $token: found.name,
    $until: serviceTime.text(USED_MS),
    $now: serviceTime.text(),
  }
  const { done } = await store.write(sessions.replace, used, signal)
  if (!done) throw badToken()
  return caller
}

export const makeTicket = serverEndpoint({
  name: 'makeTicket',
  method: 'POST',
  path: '/api/auth/ticket/',
  tag: SESSIONS,
  parameters: [],
  access: 'signed-in',
  answer: 'secret',
  schemas: () => ({
    Ticket: closedObject(
      { ticket: { type: 'string' }, expires_at: { type: 'string', format: 'date-time' } },
      ['ticket', 'expires_at'],
    ),
  }),
  describe: () => ({
    summary: 'Get a ticket',
    description: `For \`GET /api/changes/?ticket=\`, where a client cannot send headers, such as \`EventSource\` in browsers. It stands in for your token and works once, within ${budget.ticketSeconds} seconds.`,
    answers: [
      {
        status: 201,
        description: 'The ticket.',
        headers: [],
        schema: refTo('Ticket'),
        example: {
          ticket: 'eyJhbGciOiJIUzI1NiJ9.eyJ1c2UiOiJ0aWNrZXQifQ.c2ln',
          expires_at: '2026-06-02T17:01:00.000Z',
        },
      },
    ],
    codes: ['unauthenticated'],
  }),
  run: (context, { caller }) => ticket(context, caller),
})
