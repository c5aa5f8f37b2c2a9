import { actingSession } from '../../account/tokens.ts'
import { budget } from '../../budget.ts'
import { addError, type Errors, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Caller } from '../../plan/viewer/actor.ts'
import { type Answer, type Context, signInFirst } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { selfOf, signedInAnswer, signIn } from './sign-in.ts'

/** `POST /api/auth/as/` `{user}`: returns a token with which an admin acts as that user. */
async function actAs(context: Context, { actor, session }: Caller, body: object): Promise<Answer> {
  if (actor.kind !== 'user' || session === undefined) throw signInFirst()
  const { plan, id } = parseUser(context, body as Record<string, unknown>)
  const self = await selfOf(context, plan, id)
  if (self === undefined) throw invalidAt('user', 'does not exist, or is deleted')
  const by = { entity: actor.entity, id: actor.id }
  return signIn(context, { plan, id, ...self }, actingSession(session, by, self.epoch))
}

/** Nobody acts as an admin: an admin has all rights already, and should use them under their own name. */
function parseUser({ model, plans }: Context, body: Record<string, unknown>): { plan: Plan; id: number } {
  const errors: Errors = new Map()
  for (const name of Object.keys(body)) if (name !== 'user') addError(errors, name, 'is not known here')
  const { user } = body
  const [, name = '', id] =
    typeof user === 'string' ? (/^([a-z][a-z0-9_]*)\/([1-9]\d{0,14})$/.exec(user) ?? []) : []
  const plan = plans.get(name)
  if (user === undefined) addError(errors, 'user', 'is required')
  else if (plan?.login === undefined) addError(errors, 'user', 'must be a user, such as users/5')
  else if (name === model.admins) addError(errors, 'user', 'is an admin: nobody can act as an admin')
  if (errors.size > 0 || plan === undefined) throw invalid(errors)
  return { plan, id: Number(id) }
}

export const actAsUser = serverEndpoint({
  name: 'actAs',
  method: 'POST',
  path: '/api/auth/as/',
  tag: SESSIONS,
  parameters: [],
  body: 'object',
  access: 'admins',
  ownLogin: true,
  answer: 'token',
  schemas: () => ({
    ActAs: closedObject({ user: { type: 'string', pattern: '^[a-z][a-z0-9_]*/[1-9][0-9]{0,14}$' } }, [
      'user',
    ]),
  }),
  describe: () => ({
    summary: 'Act as a user',
    description: `Returns a token with which an admin acts as a user, for ${budget.actingMinutes} minutes. The rules of that user apply, and what is done is recorded as \`admins/1 as users/5\`. The token cannot be refreshed. It ends with the session of the admin. It cannot purge, and cannot change passwords, e-mails of accounts, or anything else that somebody logs in with. Nobody can act as an admin.`,
    body: { schema: refTo('ActAs'), example: { user: 'users/5' } },
    answers: [signedInAnswer],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: (context, { caller, body }) => actAs(context, caller, body),
})
