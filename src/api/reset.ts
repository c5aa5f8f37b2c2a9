import { type LinkPurpose, stateDigest } from '../account/links.ts'
import { emailKey } from '../declare/email-key.ts'
import { type Errors, Failure, invalid, note } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { memberColumns } from '../plan/read/login.ts'
import { EMAIL_KEY } from '../plan/tables/schema.ts'
import { type Actor, system } from '../plan/viewer/actor.ts'
import { taskParams } from '../work/queues.ts'
import type { Call } from './call.ts'
import { type Answer, askedBy, type Context, operationOf } from './context.ts'
import { closedObject, refTo, SESSIONS } from './description.ts'
import { serverEndpoint } from './endpoint.ts'
import { hashSecrets, noteOwnPassword } from './faults.ts'
import { takeText, takeTypes } from './login.ts'
import { mailTask } from './mail-queue.ts'
import { annotated } from './notes.ts'
import { perform } from './perform.ts'
import { setPassword } from './session.ts'

type Request = Pick<Call, 'body' | 'address' | 'signal' | 'note' | 'noteAccount'>

/**
 * `POST /api/auth/password/forgot`. The answer and the work before it are the same for every e-mail: there are as many
 * tasks as login types, and those for nobody do nothing. The mail is made later, in the background.
 */
export async function forgotPassword(context: Context, request: Request): Promise<Answer> {
  const body = request.body as Record<string, unknown>
  const errors: Errors = new Map()
  refuseOthers(body, ['email', 'user_type'], errors)
  const email = takeText(body, 'email', errors)
  const types = takeTypes(context, body.user_type, errors)
  if (errors.size > 0) throw invalid(errors)
  const key = emailKey(email)
  request.noteAccount(context.digestOf(key))
  // Each request counts as a failed attempt, apart from logins: nobody is locked out by it, or flooded with mails.
  await context.throttle.attempt(
    { account: `forgot ${key}`, address: request.address, device: null },
    async () => {
      const tasks = await Promise.all(
        types.map(async ({ name }) => {
          const login = context.plans.get(name)?.login
          const [row] =
            login === undefined ? [] : await context.store.read(login.byEmail, { [EMAIL_KEY]: key })
          if (row === undefined) return mailTask(null)
          return mailTask({ mail: 'reset', entity: name, id: Number(memberColumns.read(row).id) })
        }),
      )
      await context.store.write([context.work.enqueue], taskParams(tasks))
      return undefined
    },
  )
  context.work.wake()
  return messageAnswer('If there is such an account, a mail with a link is on its way.')
}

/** The account of a valid link. */
interface Linked {
  readonly plan: Plan
  readonly purpose: LinkPurpose
  readonly actor: Actor
  readonly id: number
  readonly epoch: number
  /** Of the e-mail. */
  readonly key: string
}

/** `POST /api/auth/password/reset`: sets the password, once, and ends all sessions. */
export async function resetPassword(context: Context, request: Request): Promise<Answer> {
  const body = request.body as Record<string, unknown>
  const errors: Errors = new Map()
  refuseOthers(body, ['token', 'password'], errors)
  const token = takeText(body, 'token', errors)
  const password = takeText(body, 'password', errors)
  if (errors.size > 0) throw invalid(errors)
  const { address } = request
  const trier = { account: `link ${token}`, address, device: null, remembered: false }
  const linked = (await context.throttle.attempt(trier, () => accountOfLink(context, token)))?.found
  if (linked === undefined) throw new Failure('invalid_link')
  request.noteAccount(context.digestOf(linked.key))
  refuseWeak(linked, password)
  const operation = await changeByLink(context, linked, { token, password, request })
  context.identities.forget()
  // Others may have locked the account: whoever reads its mails is let in.
  await context.throttle.unlock(linked.key)
  const answer = messageAnswer('The password was changed. Log in with it.')
  return { ...answer, headers: { 'Takeback-Operation': operation } }
}

/** The links that set a password. */
const SETTING = ['reset', 'invite'] as const

/** Undefined if the link is not valid, or the account was changed since. */
async function accountOfLink(context: Context, token: string): Promise<Linked | undefined> {
  const [reset, invite] = await Promise.all(SETTING.map((one) => context.links.find(one, token)))
  const found = reset ?? invite
  const purpose = reset === undefined ? 'invite' : 'reset'
  const plan = found && context.plans.get(found.entity)
  if (found === undefined || plan?.login === undefined) return undefined
  const { entity, id, bound } = found
  const actor: Actor = { kind: 'user', entity, id, admin: entity === context.model.admins }
  const [row] = await context.store.read(plan.login.self, { ...askedBy(actor), $id: id })
  const self = row && plan.login.readSelf(row)
  if (self === undefined || stateDigest(String(self.key), String(self.hash)) !== bound) return undefined
  return { plan, purpose, actor, id, epoch: Number(self.epoch), key: String(self.key) }
}

function refuseWeak({ plan, key }: Linked, password: string): void {
  const errors: Errors = new Map()
  plan.view(system).check('partial', { password }, errors)
  noteOwnPassword(plan, { password, email: key }, errors)
  if (errors.size > 0) throw invalid(errors)
}

/** The link is used up in the transaction that sets the password. */
async function changeByLink(
  context: Context,
  { plan, purpose, actor, id, epoch }: Linked,
  { token, password, request }: { token: string; password: string; request: Request },
): Promise<string> {
  const link = context.links.using(purpose, token)
  const params = { ...operationOf(actor), ...link.params, $id: id, $epoch: epoch, password }
  await perform(context.store, hashSecrets(plan, params, 'login'), request.signal)
  const act = setPassword(context, plan, params, [link.step])
  if (!(await perform(context.store, annotated(context, request.note, act), request.signal)))
    throw new Failure('invalid_link')
  return params.$operation
}

function refuseOthers(body: object, known: readonly string[], errors: Errors): void {
  for (const name of Object.keys(body)) if (!known.includes(name)) note(errors, name, 'is not a field here')
}

function messageAnswer(message: string): Answer {
  return { status: 200, body: JSON.stringify({ message }) }
}

const someMessage = closedObject({ message: { type: 'string' } }, ['message'])
const open = { method: 'POST', tag: SESSIONS, parameters: [], body: 'object', access: 'everyone' } as const

export const askForReset = serverEndpoint({
  ...open,
  name: 'forgotPassword',
  path: '/api/auth/password/forgot',
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
