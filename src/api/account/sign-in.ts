import type { SessionKind, SessionOwner, Visitor } from '../../account/sessions.ts'
import { expiryOf } from '../../account/temporary.ts'
import { newSession } from '../../account/tokens.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Actor, Session } from '../../plan/viewer/actor.ts'
import { type Answer, type Context, callerParams } from '../context.ts'
import { refTo, type Success } from '../description.ts'
import { isVerified, refuseUnverified } from './verified.ts'

/** A user who has proved who they are, by a password or something as strong. */
export interface Proven {
  readonly plan: Plan
  readonly id: number
  readonly epoch: number
  readonly json: string
  /** When the password expires, if it is temporary. */
  readonly passwordExpiry: string | undefined
  /** Whether there was more than a password. */
  readonly strong?: boolean
}

/** Starts a session for a user who has proved who they are. Every way to log in ends here. */
export async function startSession(
  context: Context,
  user: Proven,
  how: SessionKind,
  visitor: Visitor,
): Promise<Answer> {
  await refuseUnverified(context, user)
  // The printed password is used, so nobody else can take over its account.
  if (user.passwordExpiry !== undefined) await context.firstAdmin.settle()
  // A passkey counts as two factors. A provider has asked for the factors that it wants.
  const session = newSession(user.epoch, how !== 'password' || user.strong === true)
  await context.sessions.start(ownerOf(user), session, how, visitor)
  return signIn(context, user, session)
}

/** The owner of a user's sessions. */
export function ownerOf({ plan, id, epoch }: Pick<Proven, 'plan' | 'id' | 'epoch'>): SessionOwner {
  return { entity: plan.type.name, id, epoch }
}

/** Answers with a token of a session, and its user. */
export async function signIn(
  context: Context,
  { plan, id, json, passwordExpiry }: Omit<Proven, 'epoch'>,
  session: Session,
): Promise<Answer> {
  const verified = await isVerified(context, plan, id)
  const { token, expiresAt } = await context.tokens.issue({ entity: plan.type.name, id, session })
  return {
    status: 200,
    body: JSON.stringify({
      token,
      user: describeUser(plan, json, { passwordExpiry, session, verified }),
      expires_at: expiresAt,
      password_expires_at: passwordExpiry,
    }),
  }
}

/** What describes a user besides the Entity itself. */
interface Described {
  readonly passwordExpiry: string | undefined
  readonly session: Pick<Session, 'by'>
  /** Shown if the type requires proved addresses. */
  readonly verified: boolean
}

/** Describes a user as an Entity, with its type. `id` and `email` come first. */
export function describeUser(
  { type }: Plan,
  json: string,
  { passwordExpiry, session: { by }, verified }: Described,
): object {
  const { id, email, ...rest } = JSON.parse(json) as Record<string, unknown>
  return {
    id,
    email,
    user_type: type.login?.userType,
    ...rest,
    ...(type.login?.verify === true && { verified }),
    password_expires_at: passwordExpiry,
    acting: by && `${by.entity}/${by.id}`,
  }
}

/** The user as they see themselves, and the key of the e-mail; undefined if the user is gone. */
export async function selfOf(
  context: Context,
  { login, type }: Plan,
  id: number,
): Promise<(Pick<Proven, 'epoch' | 'json' | 'passwordExpiry'> & { key: string }) | undefined> {
  if (login === undefined) return undefined
  const actor: Actor = { kind: 'user', entity: type.name, id, admin: type.name === context.model.admins }
  const [row] = await context.store.read(login.self, { ...callerParams(actor), $id: id })
  if (row === undefined) return undefined
  const self = login.readSelf(row)
  const { epoch, json, key } = self
  return { epoch: Number(epoch), json: String(json), key: String(key), passwordExpiry: expiryOf(self) }
}

export const signedInAnswer: Success = {
  status: 200,
  description: 'The token and its user.',
  headers: [],
  schema: refTo('LoginAnswer'),
}
