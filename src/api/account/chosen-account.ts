import type { SessionOwner } from '../../account/sessions.ts'
import { didYouMean } from '../../declare/closest.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { type Caller, passesRules } from '../../plan/viewer/actor.ts'
import { type Context, callerParams } from '../context.ts'
import { signedInUser } from './session.ts'
import { ownerOf } from './sign-in.ts'

/** The account that a call is about, and the calling session. */
export interface ChosenAccount extends SessionOwner {
  /** Whether it is the caller's own account. */
  readonly own: boolean
  /** The name of the calling session. */
  readonly session: string
}

/** The account of the caller, or the one that an admin names with `?user=users/5`. Throws if `errors` has any. */
export async function chosenAccount(
  context: Context,
  caller: Caller,
  user: string | undefined,
  errors: Errors,
): Promise<ChosenAccount> {
  const self = await signedInUser(context, caller)
  const own = { ...ownerOf({ ...self, epoch: self.session.epoch }), own: true, session: self.session.id }
  const named = user === undefined || user === `${own.entity}/${own.id}` ? undefined : user
  if (named !== undefined && !passesRules(caller.actor)) throw new Failure('forbidden')
  const [entity, id] = named === undefined ? [] : parseUser(context, named, errors)
  if (errors.size > 0) throw invalid(errors)
  if (entity === undefined || id === undefined) return own
  const login = context.plans.get(entity)?.login
  const [row] =
    login === undefined
      ? []
      : await context.store.read(login.self, { ...callerParams(caller.actor), $id: id })
  if (login === undefined || row === undefined) throw new Failure('not_found')
  const { epoch } = login.readSelf(row)
  return { entity, id, epoch: Number(epoch), own: false, session: self.session.id }
}

/** Reads `users/5`, and notes errors. */
function parseUser(
  { model }: Context,
  text: string,
  errors: Errors,
): readonly [] | readonly [entity: string, id: number] {
  const [, name, id] = /^([a-z][a-z0-9_]*)\/([1-9]\d{0,14})$/.exec(text) ?? []
  const names = model.logins.map((type) => type.name)
  if (name === undefined) addError(errors, 'user', 'must be a user, such as users/3')
  else if (!names.includes(name))
    addError(errors, 'user', () => `"${name}" is not a login type${didYouMean(name, names)}`)
  else return [name, Number(id)]
  return []
}
