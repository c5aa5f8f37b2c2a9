import { hasWorkingLink, isInvitationOpen } from '../../account/invitations.ts'
import { type AccountState, accountState } from '../../account/links.ts'
import type { AttemptAccount } from '../../account/throttle.ts'
import { emailKey } from '../../declare/email-key.ts'
import type { LinkKind, MailKind, MailText } from '../../declare/mail.ts'
import { checkedText, defaultText } from '../../mail/texts.ts'
import type { Plan } from '../../plan/compile.ts'
import { memberColumns } from '../../plan/read/login.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import { entityRow } from '../../plan/view/entity-row.ts'
import { system } from '../../plan/viewer/actor.ts'
import type { Store } from '../../store/store.ts'
import { refuseDropped } from '../../work/job.ts'
import type { Queue, Task, TaskJob } from '../../work/queues.ts'
import { type Context, callerParams } from '../context.ts'
import { isVerified } from './verified.ts'

const QUEUE = 'mail'

/**
 * A mail to send to an account, which is named by its id or by the operation that creates it. It has no token and no
 * address: the token is made with the mail, and addresses stay where a purge finds them.
 */
type Payload = { readonly mail: MailKind; readonly entity: string } & (
  | { readonly id: number; readonly operation?: string }
  | { readonly operation: string }
)

/** The task of a mail. The id 0 is nobody: enqueuing such a mail takes as long as any other. */
export function mailTask(payload: Payload): Task {
  return { queue: QUEUE, payload }
}

/** The same, but mails to one account are sent one at a time: one can make the next unnecessary. */
export function mailInTurn(payload: Payload & { readonly id: number }): Task {
  return { ...mailTask(payload), key: `${payload.entity}/${payload.id}` }
}

export function mailQueue(context: Context): Queue {
  return { name: QUEUE, run: (job) => sendMail(context, job) }
}

async function sendMail(context: Context, job: TaskJob): Promise<void> {
  // Earlier versions enqueued `null` for nobody.
  const payload = job.payload as Payload | null
  if (payload === null || ('id' in payload && payload.id === 0)) return
  refuseGoneType(payload.entity, context.plans.get(payload.entity)?.login !== undefined)
  const account = await accountOf(context, payload)
  // The user is gone.
  if (account === undefined) return
  const letter = await letterOf(context, job, payload, account)
  if (letter === undefined) return
  const { kind, to } = letter
  const link = linkOf(context, LINKS[kind], letter.token)
  const text = await ownText(context, kind, letter.account, link)
  await context.mailer.send({ ...text, to, name: `${fileTime()}-${kind}-${job.id}` })
}

/** Throws if the type of the user is gone, so that the task fails with a reason: the mail must not be lost silently. */
function refuseGoneType(entity: string, logsIn: boolean): void {
  refuseDropped(entity)
  // An instance with another declaration may know the type.
  if (!logsIn) throw new Error(`The declaration here has no Entity type ${entity} that logs in.`)
}

/** The kind of link in each kind of mail. */
const LINKS: Readonly<Record<MailKind, LinkKind>> = {
  reset: 'reset',
  invite: 'invite',
  verify: 'verify',
  email: 'email',
  revert: 'revert',
  taken: 'reset',
}

/** A mail that is ready to be sent. */
interface Letter {
  readonly kind: MailKind
  readonly to: string
  readonly account: Account
  readonly token: string
}

/** Makes a mail; undefined if none is needed any more. A retry makes a new link, which replaces the former one. */
async function letterOf(
  context: Context,
  { store }: TaskJob,
  payload: Payload,
  account: Account,
): Promise<Letter | undefined> {
  const { mail, operation: slot } = payload
  if (mail === 'revert') return oldAddressLetter(context, store, account, slot ?? '')
  if (mail === 'email') return newAddressLetter(context, store, account)
  // Earlier versions named the invited user by the operation, and made the invitation with its mail.
  const isUnmade = mail === 'invite' && !('id' in payload)
  const kind = await neededKind(context, mail, account, isUnmade)
  if (kind === undefined) return undefined
  const { plan, id, bound, key } = account
  const entity = plan.type.name
  if (mail === 'verify') await countVerification(context, `mails ${entity}/${id}`)
  const address = kind === 'invite' ? key : undefined
  const token = await context.links.make(store, LINKS[kind], { entity, id, bound, address })
  return token === undefined ? undefined : { kind, to: account.email, account, token }
}

/** Returns which mail to send for the enqueued one, often the same; undefined if none is needed any more. */
async function neededKind(
  context: Context,
  mail: 'reset' | 'invite' | 'verify' | 'taken',
  account: Account,
  isUnmade: boolean,
): Promise<MailKind | undefined> {
  if (mail !== 'invite' && mail !== 'verify') return mail
  const { plan, id } = account
  const found = await context.invitations.of({ entity: plan.type.name, id })
  if (isUnmade && found === undefined) return mail
  const invitation = found !== undefined && isInvitationOpen(found, account) ? found : undefined
  // A user who has set a password needs no invitation.
  if (mail === 'invite') return invitation && mail
  if (await isVerified(context, plan, id)) return undefined
  if (invitation === undefined) return mail
  // An invitation also proves the address. One that was sent to another address is useless.
  if (hasWorkingLink(invitation, account)) return undefined
  return invitation.address === account.key ? mail : 'invite'
}

/**
 * Throws if an account had too many of these mails, so that this one is sent later, to the address of that time: users
 * can change their addresses as often as they like, and nobody must be flooded with mails by that.
 */
async function countVerification({ throttle }: Context, account: AttemptAccount): Promise<void> {
  await throttle.attempt({ account, address: account, device: null }, async () => undefined)
}

/** A mail to the address that the account had before an operation. */
async function oldAddressLetter(
  context: Context,
  store: Store,
  account: Account,
  operation: string,
): Promise<Letter | undefined> {
  const { plan, id } = account
  const target = { entity: plan.type.name, id, slot: operation }
  const known = await context.links.renew(store, 'revert', target)
  if (known !== undefined) return { kind: 'revert', to: known.address, account, token: known.token }
  const found = await context.feed.operation(operation, [target.entity])
  const before = found?.changes.find((change) => change.id === id)?.before ?? '{}'
  const { email: address } = JSON.parse(before) as { email?: string }
  if (found === undefined || address === undefined) return undefined
  const token = await context.links.makeRevert(store, { ...target, address, bound: '' }, found.at)
  return token === undefined ? undefined : { kind: 'revert', to: address, account, token }
}

/** A mail to the new address. If another account has that address, its owner is told instead. */
async function newAddressLetter(
  context: Context,
  store: Store,
  account: Account,
): Promise<Letter | undefined> {
  const { plan, id } = account
  const entity = plan.type.name
  const link = await context.links.renew(store, 'email', { entity, id })
  if (link === undefined || plan.login === undefined) return undefined
  const { token, address } = link
  const [row] = await store.read(plan.login.byEmail, { [EMAIL_KEY]: emailKey(address) })
  const holder = row === undefined ? id : Number(memberColumns.read(row).id)
  if (holder === id) return { kind: 'email', to: address, account, token }
  const other = await accountOf(context, { mail: 'taken', entity, id: holder })
  if (other === undefined) return undefined
  const reset = await context.links.make(store, 'reset', { entity, id: holder, bound: other.bound })
  return reset === undefined ? undefined : { kind: 'taken', to: other.email, account: other, token: reset }
}

interface Account extends AccountState {
  readonly plan: Plan
  readonly id: number
  readonly email: string
  readonly bound: string
}

async function accountOf(context: Context, payload: Payload): Promise<Account | undefined> {
  const plan = context.plans.get(payload.entity)
  const id = 'id' in payload ? payload.id : await createdBy(context, payload)
  if (plan?.login === undefined || id === undefined) return undefined
  const [row] = await context.store.read(plan.login.self, { ...callerParams(system), $id: id })
  if (row === undefined) return undefined
  const self = plan.login.readSelf(row)
  return { plan, id, email: String(self.email), ...accountState(self) }
}

/** Returns the id of the created user; undefined if retention has erased the operation. */
async function createdBy(
  { feed }: Context,
  { entity, operation }: { entity: string; operation: string },
): Promise<number | undefined> {
  const found = await feed.operation(operation, [entity])
  return found?.changes.find(({ kind }) => kind === 'create')?.id ?? undefined
}

/** Never uses the headers of a request: whoever sends them could lead others astray. */
function linkOf({ model, settings }: Context, kind: LinkKind, token: string): string {
  const { url, appUrl } = settings.mail
  const path = model.mail.links.get(kind)
  if (appUrl !== undefined && path !== undefined) return appUrl + path.replace('{token}', token)
  return `${url}/account/${kind}?link=${token}`
}

async function ownText(
  { model, store }: Context,
  kind: MailKind,
  { plan, id }: Account,
  link: string,
): Promise<MailText> {
  const make = model.mail.texts.get(kind)
  if (make === undefined) return defaultText(kind, link)
  const [row] = await store.read(plan.view(system).lists.read, { ...callerParams(system), $id: id })
  const user = { ...JSON.parse(entityRow(row)?.json ?? '{}'), type: plan.type.login?.userType }
  return checkedText(await make({ user, link }), kind)
}

function fileTime(): string {
  return new Date().toISOString().replaceAll(':', '-')
}
