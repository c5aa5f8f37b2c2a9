import type { Claims } from '../auth/tokens.ts'
import { Failure } from '../errors.ts'
import { nobody } from '../plan/actor.ts'
import type { Caller, Context } from './context.ts'

const anonymous: Caller = Object.freeze({ actor: nobody, session: undefined })

/** Who a token stands for, looked up anew each time: the user must still be there, and the token must not have been revoked. */
export async function identify(context: Context, token: string | undefined): Promise<Caller> {
  if (token === undefined) return anonymous
  const claims = await context.tokens.verify(token)
  if (claims === undefined || !(await isLive(context, claims))) throw badToken()
  const { entity, id, session } = claims
  return { actor: { kind: 'user', entity, id, admin: entity === context.model.admins }, session }
}

async function isLive(context: Context, { entity, id, session, epoch }: Claims): Promise<boolean> {
  const login = context.plans.get(entity)?.login
  if (login === undefined) return false
  const [row] = await context.store.read(login.state, { $id: id, $session: session })
  return row !== undefined && row[0] === epoch && row[1] === null
}

export function badToken(): Failure {
  return new Failure('invalid_token', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } })
}
