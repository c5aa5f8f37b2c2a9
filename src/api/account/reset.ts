import { loginAccount } from '../../account/throttle.ts'
import { type Errors, Failure, invalid } from '../../errors.ts'
import { system } from '../../plan/viewer/actor.ts'
import { type Answer, type Context, operationOf } from '../context.ts'
import { refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { addPasswordErrors, hashSecrets } from '../faults.ts'
import { annotated } from '../notes.ts'
import { perform } from '../perform.ts'
import {
  accountOfLink,
  type Linked,
  type LinkRequest,
  mailByEmail,
  messageAnswer,
  refuseOthers,
  someMessage,
} from './account-link.ts'
import { takeText } from './login.ts'
import { setPassword } from './session.ts'
import { markingVerified } from './verified.ts'

/** `POST /api/auth/password/forgot` */
export function forgotPassword(context: Context, request: LinkRequest): Promise<Answer> {
  return mailByEmail(context, request, 'reset')
}

/** `POST /api/auth/password/reset`: sets the password, once, and ends all sessions. */
export async function resetPassword(context: Context, request: LinkRequest): Promise<Answer> {
  const body = request.body as Record<string, unknown>
  const errors: Errors = new Map()
  refuseOthers(body, ['token', 'password'], errors)
  const token = takeText(body, 'token', errors)
  const password = takeText(body, 'password', errors)
  if (errors.size > 0) throw invalid(errors)
  const linked = await accountOfLink(context, request, PASSWORD_LINKS, token)
  refuseWeak(linked, password)
  const operation = await changeByLink(context, linked, { token, password, request })
  context.identities.forget()
  // Others may have locked the account. Whoever reads its mails is let in.
  await context.throttle.unlock(loginAccount(linked.plan.type, linked.key))
  const answer = messageAnswer('The password was changed. Log in with it.')
  return { ...answer, headers: { 'Takeback-Operation': operation } }
}

/** The links that set a password. */
export const PASSWORD_LINKS = ['reset', 'invite'] as const

function refuseWeak({ plan, key }: Linked, password: string): void {
  const errors: Errors = new Map()
  plan.view(system).check('partial', { password }, errors)
  addPasswordErrors(plan, { password, email: key }, errors)
  if (errors.size > 0) throw invalid(errors)
}

/** Sets the password and uses up the link, in one transaction. */
async function changeByLink(
  context: Context,
  { plan, purpose, actor, id, epoch, key, holder }: Linked,
  { token, password, request }: { token: string; password: string; request: LinkRequest },
): Promise<string> {
  const link = context.links.using(purpose, token, holder)
  // Whoever has the link reads the mails to this address.
  const mark = markingVerified(context, plan, { id, key })
  const params = { ...operationOf(actor), ...link.params, ...mark.params, $id: id, $epoch: epoch, password }
  await perform(context.store, hashSecrets(plan, params, 'login'), request.signal)
  const act = setPassword(context, plan, params, [...link.steps, ...mark.steps])
  if (!(await perform(context.store, annotated(context, request.note, act), request.signal)))
    throw new Failure('invalid_link')
  return params.$operation
}

const open = { method: 'POST', tag: SESSIONS, parameters: [], body: 'object', access: 'everyone' } as const

export const askForReset = serverEndpoint({
  ...open,
  name: 'forgotPassword',
  path: '/api/auth/password/forgot',
  answer: 'kept',
  describe: () => ({
    summary: 'Ask for a new password',
    description:
      'Mails a link that sets a new password. The answer is the same whether or not there is such an account.',
    body: { schema: refTo('Forgot'), example: { email: 'ada@example.com' } },
    answers: [
      {
        status: 200,
        description: 'If there is such an account, it gets a mail.',
        headers: [],
        schema: someMessage,
      },
    ],
    codes: ['too_many_attempts', 'disk_full'],
  }),
  run: forgotPassword,
})

export const resetByLink = serverEndpoint({
  ...open,
  name: 'resetPassword',
  path: '/api/auth/password/reset',
  answer: 'kept',
  describe: () => ({
    summary: 'Set a new password by a mailed link',
    description:
      'Takes the token of the newest link, or of an invitation, once. Ends all sessions of the user.',
    body: {
      schema: refTo('PasswordReset'),
      example: { token: 'l3vYp7yqM0…', password: 'a longer and better password' },
    },
    answers: [
      {
        status: 200,
        description: 'The password was changed.',
        headers: ['Takeback-Operation'],
        schema: someMessage,
      },
    ],
    codes: ['invalid_link', 'too_many_attempts', 'disk_full'],
  }),
  run: resetPassword,
})
