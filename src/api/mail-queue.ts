import { stateDigest } from '../account/links.ts'
import type { MailKind, MailText } from '../declare/mail.ts'
import { checkedText, defaultText } from '../mail/texts.ts'
import type { Plan } from '../plan/compile.ts'
import { entityRow } from '../plan/view/entity-row.ts'
import { system } from '../plan/viewer/actor.ts'
import type { Queue, Task, TaskJob } from '../work/queues.ts'
import { askedBy, type Context } from './context.ts'

const QUEUE = 'mail'

/**
 * A mail to send to an account, which is named by its id or by the operation that creates it. It has no token: that is
 * made when the mail is.
 */
type Payload = { readonly mail: MailKind; readonly entity: string } & (
  | { readonly id: number }
  | { readonly operation: string }
)

/** The task of a mail. `null` is a mail to nobody: it costs the same to enqueue. */
export function mailTask(payload: Payload | null): Task {
  return { queue: QUEUE, payload }
}

export function mailQueue(context: Context): Queue {
  return { name: QUEUE, run: (job) => sendMail(context, job) }
}

/** A retry makes a new link, which replaces that of the attempt before. */
async function sendMail(context: Context, job: TaskJob): Promise<void> {
  const payload = job.payload as Payload | null
  const account = payload === null ? undefined : await accountOf(context, payload)
  // Nobody, or somebody who is gone.
  if (payload === null || account === undefined) return
  const { mail, entity } = payload
  const { id } = account
  const token = await context.links.make(job.store, mail, { entity, id, bound: account.bound })
  const link = linkOf(context, mail, token)
  const text = await ownText(context, mail, account.plan, { id, link })
  await context.mailer.send({ ...text, to: account.email, name: `${fileTime()}-${mail}-${job.id}` })
}

interface Account {
  readonly plan: Plan
  readonly id: number
  readonly email: string
  readonly bound: string
}

async function accountOf(context: Context, payload: Payload): Promise<Account | undefined> {
  const plan = context.plans.get(payload.entity)
  const id = 'id' in payload ? payload.id : await createdBy(context, payload)
  if (plan?.login === undefined || id === undefined) return undefined
  const [row] = await context.store.read(plan.login.self, { ...askedBy(system), $id: id })
  if (row === undefined) return undefined
  const { email, key, hash } = plan.login.readSelf(row)
  return { plan, id, email: String(email), bound: stateDigest(String(key), String(hash)) }
}

/** Undefined if retention has erased the operation meanwhile. */
async function createdBy(
  { feed }: Context,
  { entity, operation }: { entity: string; operation: string },
): Promise<number | undefined> {
  const found = await feed.operation(operation, [entity])
  return found?.changes.find(({ kind }) => kind === 'create')?.id ?? undefined
}

/** Never made from the headers of a request: whoever sends those could lead others astray. */
function linkOf({ model, settings }: Context, kind: MailKind, token: string): string {
  const { url, appUrl } = settings.mail
  const path = model.mail.links.get(kind)
  if (appUrl !== undefined && path !== undefined) return appUrl + path.replace('{token}', token)
  return `${url}/account/${kind}?link=${token}`
}

async function ownText(
  { model, store }: Context,
  kind: MailKind,
  plan: Plan,
  { id, link }: { id: number; link: string },
): Promise<MailText> {
  const make = model.mail.texts.get(kind)
  if (make === undefined) return defaultText(kind, link)
  const [row] = await store.read(plan.view(system).lists.read, { ...askedBy(system), $id: id })
  const user = { ...JSON.parse(entityRow(row)?.json ?? '{}'), type: plan.type.login?.userType }
  return checkedText(await make({ user, link }), kind)
}

function fileTime(): string {
  return new Date().toISOString().replaceAll(':', '-')
}
