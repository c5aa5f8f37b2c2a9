import { emailKey } from '../../declare/email-key.ts'
import { Failure } from '../../errors.ts'
import type { FeedChange, FeedOperation } from '../../journal/feed.ts'
import { Follower } from '../../live/follower.ts'
import type { Task } from '../../work/queues.ts'
import type { Answer, Context } from '../context.ts'
import { refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import {
  accountOfLink,
  type LinkRequest,
  mailByEmail,
  messageAnswer,
  someMessage,
  takeToken,
} from './account-link.ts'
import { mailInTurn, mailTask } from './mail-queue.ts'
import { markingVerified } from './verified.ts'

/** `POST /api/auth/verify`: marks the address of the account as proved, and uses up the link. */
export async function verifyAddress(context: Context, request: LinkRequest): Promise<Answer> {
  const token = takeToken(request)
  const { plan, id, key, holder } = await accountOfLink(context, request, ['verify'], token)
  const link = context.links.using('verify', token, holder)
  const mark = markingVerified(context, plan, { id, key })
  const params = { ...link.params, ...mark.params }
  const { done } = await context.store.write([...link.steps, ...mark.steps], params, request.signal)
  if (!done) throw new Failure('invalid_link')
  return messageAnswer('The e-mail address is confirmed. You can log in now.')
}

/**
 * Mails a link to every new address, however it was written: by a sign-up, in a list or a batch, by code or by an undo.
 * No mail is sent if the address is proved by then.
 */
export function verifyFollowers(context: Context): Follower[] {
  const entities = context.model.logins.filter(({ login }) => login?.verify === true).map(({ name }) => name)
  if (entities.length === 0) return []
  return [
    new Follower(context, {
      name: 'verify',
      queue: 'mail',
      unbounded: true,
      entities,
      tasksOf: (operation) => tasksOf(context, operation, entities),
    }),
  ]
}

async function tasksOf(
  context: Context,
  operation: FeedOperation,
  entities: readonly string[],
): Promise<readonly Task[]> {
  const changes = [...operation.changes]
  for (let next = operation.rest; next !== null; ) {
    const more = await context.feed.changes(operation.id, next, entities)
    changes.push(...more.changes)
    next = more.rest
  }
  const tasks = changes.map((change) => tasksFor(context, operation, change))
  return (await Promise.all(tasks)).flat()
}

/**
 * Makes a task to mail a link to a new address that is not proved. If users change it themselves, the old address is
 * told: a stolen token must not be enough to take over an account for good.
 */
async function tasksFor(
  { verified }: Context,
  { id: operation, actor }: FeedOperation,
  { entity, id, kind, data, before }: FeedChange,
): Promise<Task[]> {
  const [former, address] = [addressIn(before), addressIn(data)]
  if (id === null || address === undefined || (kind !== 'create' && address === former)) return []
  if (await verified.has({ entity, id, key: address })) return []
  const task = mailInTurn({ mail: 'verify', entity, id })
  if (former === undefined || actor !== `${entity}/${id}`) return [task]
  // A former address that was never proved may be anybody's.
  const owned = await verified.has({ entity, id, key: former })
  return owned ? [task, mailTask({ mail: 'revert', entity, id, operation })] : [task]
}

function addressIn(json: string | null): string | undefined {
  const { email } = JSON.parse(json ?? '{}') as { email?: unknown }
  return typeof email === 'string' ? emailKey(email) : undefined
}

const open = { method: 'POST', tag: SESSIONS, parameters: [], body: 'object', access: 'everyone' } as const

export const verifyByLink = serverEndpoint({
  ...open,
  name: 'verifyEmail',
  path: '/api/auth/verify',
  answer: 'kept',
  describe: () => ({
    summary: 'Confirm an e-mail address by a mailed link',
    description:
      'Takes the token of the newest link, once. Users of types with `verify` cannot log in before that.',
    body: { schema: refTo('LinkToken'), example: { token: 'l3vYp7yqM0…' } },
    answers: [{ status: 200, description: 'The address is confirmed.', headers: [], schema: someMessage }],
    codes: ['invalid_link', 'too_many_attempts', 'disk_full'],
  }),
  run: verifyAddress,
})

export const sendVerification = serverEndpoint({
  ...open,
  name: 'sendVerification',
  path: '/api/auth/verify/send',
  answer: 'kept',
  describe: () => ({
    summary: 'Ask for another link that confirms an e-mail address',
    description:
      'Mails a new link, which replaces the one before. The answer is the same whether or not there is such an account, and whether or not its address is confirmed.',
    body: { schema: refTo('Forgot'), example: { email: 'ada@example.com' } },
    answers: [
      {
        status: 200,
        description: 'If there is such an account, and its address is not confirmed, it gets a mail.',
        headers: [],
        schema: someMessage,
      },
    ],
    codes: ['too_many_attempts', 'disk_full'],
  }),
  run: (context, call) => mailByEmail(context, call, 'verify'),
})
