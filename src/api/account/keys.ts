import type { AccountId } from '../../account/account-id.ts'
import type { AccessKey } from '../../account/keys.ts'
import { budget } from '../../budget.ts'
import { hasPassed } from '../../clock.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import { doneColumns } from '../../plan/past/done-via.ts'
import { type Actor, parseUserName, passesRules, type User } from '../../plan/viewer/actor.ts'
import type { Call } from '../call.ts'
import { type Answer, type Context, signInFirst } from '../context.ts'
import { KEYS, refTo } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { idPage, openIdCursor, parseId } from '../id.ts'
import { parseFlag } from '../query.ts'
import { limitOf } from '../read/list.ts'
import { confirmRecentLogin, loginConfirmed } from './confirm-owner.ts'
import { parseTerms, plainTerms } from './key-body.ts'
import { keySchemas } from './key-schemas.ts'
import { signedInUser } from './session.ts'

/** The calling user. Keys, and admins who act as somebody, never get here. */
function keyMaker(actor: Actor): User {
  if (actor.kind !== 'user') throw signInFirst()
  return actor
}

/**
 * Throws unless the caller has just logged in, or sends the password. A key outlives the session: otherwise, a stolen
 * token would be enough for access that lasts. It would not stop an admin, who can create accounts. Also throws if
 * `errors` has any.
 */
async function confirmAccess(context: Context, call: Call, errors: Errors): Promise<void> {
  const { password } = call.body as Record<string, unknown>
  if (!keyMaker(call.caller.actor).admin || password !== undefined)
    return confirmRecentLogin(context, await signedInUser(context, call.caller), call, errors)
  if (errors.size > 0) throw invalid(errors)
}

/** The user in whose name a new key acts, or whose keys are listed: the caller, or for admins anybody. */
async function keyOwnerFor(
  context: Context,
  actor: Actor,
  given: unknown,
  errors: Errors,
): Promise<AccountId> {
  const self = keyMaker(actor)
  if (given === undefined || given === null) return self
  const names = context.model.logins.map(({ name }) => name)
  const found =
    typeof given === 'string'
      ? parseUserName('user', given, names, errors)
      : addError(errors, 'user', 'must be a text')
  if (found === undefined || (found.entity === self.entity && found.id === self.id)) return self
  if (!self.admin) throw new Failure('forbidden')
  const login = context.plans.get(found.entity)?.login
  const params = { $id: found.id, $session: '', $token: '' }
  const [row] = login === undefined ? [] : await context.store.read(login.state, params)
  if (row === undefined) addError(errors, 'user', 'refers to nothing')
  return found
}

/** Finds a key that the caller may see: their own, or for admins any. */
export async function keyFor(context: Context, actor: Actor, id: string): Promise<AccessKey> {
  const self = keyMaker(actor)
  const key = await context.keys.byId(parseId(id))
  const isOwn = key !== undefined && key.owner.entity === self.entity && key.owner.id === self.id
  if (key === undefined || !(self.admin || isOwn)) throw new Failure('not_found')
  return key
}

export function shownKey({ id, owner, ...rest }: AccessKey): object {
  return { id, actor: `keys/${id}`, user: `${owner.entity}/${owner.id}`, ...rest }
}

/** `POST /api/auth/keys/` */
async function makeKey(context: Context, call: Call): Promise<Answer> {
  const { caller, signal } = call
  const given = call.body as Record<string, unknown>
  const errors: Errors = new Map()
  const terms = parseTerms(context.model, given, { before: plainTerms, more: ['user', 'password'] }, errors)
  if (given.name === undefined || given.name === null) addError(errors, 'name', 'is required')
  if (terms.expires_at !== null && hasPassed(Date.parse(terms.expires_at), Number.POSITIVE_INFINITY))
    addError(errors, 'expires_at', 'must be in the future: the key would never work')
  const owner = await keyOwnerFor(context, caller.actor, given.user, errors)
  await confirmAccess(context, call, errors)
  const calling = context.sessions.holding(caller)
  const made = await context.keys.make(owner, terms, { calling, signal })
  if (made === 'gone') {
    await context.identities.refuseEnded(caller)
    // The owner was deleted after the lookup.
    throw invalidAt('user', 'refers to nothing')
  }
  if (made === 'many')
    throw invalidAt('name', `is one key too many: a user can have at most ${budget.keysPerUser}`)
  const key = await context.keys.byId(made.id)
  if (key === undefined) throw new Failure('not_found')
  return {
    status: 201,
    body: JSON.stringify({ ...shownKey(key), key: made.text }),
    headers: { Location: `/api/auth/keys/${made.id}/` },
  }
}

/** `GET /api/auth/keys/` */
async function listKeys(
  context: Context,
  { caller, query }: Call<'user' | 'everybody' | 'limit' | 'cursor'>,
): Promise<Answer> {
  const errors: Errors = new Map()
  const { user, everybody, limit: most, cursor } = query.take(errors)
  const limit = limitOf(most, errors)
  const after = openIdCursor(cursor, errors) ?? 0
  const all = parseFlag('everybody', everybody, errors)
  if (all && !passesRules(caller.actor)) throw new Failure('forbidden')
  if (all && user !== undefined) addError(errors, 'everybody', 'cannot be combined with user')
  const owner = await keyOwnerFor(context, caller.actor, user, errors)
  if (errors.size > 0) throw invalid(errors)
  const found = await context.keys.list(all ? undefined : owner, { after, most: limit + 1 })
  const { shown, next } = idPage(found, limit)
  return { status: 200, body: JSON.stringify({ data: shown.map(shownKey), next }) }
}

/** `GET /api/auth/keys/<id>/`: the key, and how much it has done. */
async function readKey(context: Context, { caller, id }: Call): Promise<Answer> {
  const key = await keyFor(context, caller.actor, id)
  const [row = []] = await context.store.read(context.operations.doneVia, { $via: `keys/${key.id}` })
  const { operations, changes, deletes, operation, at } = doneColumns.read(row)
  const done = {
    operations: Number(operations),
    changes: Number(changes),
    deletes: Number(deletes),
    last_operation: operation,
    last_at: at,
  }
  return { status: 200, body: JSON.stringify({ ...shownKey(key), done }) }
}

/** `PATCH /api/auth/keys/<id>/` */
async function changeKey(context: Context, call: Call): Promise<Answer> {
  const { caller, signal } = call
  const key = await keyFor(context, caller.actor, call.id)
  const errors: Errors = new Map()
  const given = call.body as Record<string, unknown>
  const terms = parseTerms(context.model, given, { before: key, more: ['password'] }, errors)
  if (given.name === null) addError(errors, 'name', 'is required')
  // Another name gives no access.
  if (Object.keys(given).some((name) => name !== 'name')) await confirmAccess(context, call, errors)
  if (errors.size > 0) throw invalid(errors)
  const calling = context.sessions.holding(caller)
  if (!(await context.keys.change(key.id, terms, { calling, signal }))) {
    await context.identities.refuseEnded(caller)
    throw new Failure('key_ended')
  }
  context.identities.forget()
  return { status: 200, body: JSON.stringify(shownKey({ ...key, ...terms })) }
}

export const ofKeys = { tag: KEYS, access: 'signed-in', ownLogin: true } as const
export const sampleKey = {
  id: 7,
  actor: 'keys/7',
  user: 'users/3',
  name: 'Nightly import',
  expires_at: null,
  can: {},
  limits: { changes_per_hour: 1000 },
  agent: false,
  created_at: '2026-06-02T17:00:00.000Z',
  last_used_at: null,
  ended_at: null,
}

export const makeMyKey = serverEndpoint({
  ...ofKeys,
  name: 'makeKey',
  method: 'POST',
  path: '/api/auth/keys/',
  parameters: [],
  body: 'object',
  answer: 'secret',
  schemas: keySchemas,
  describe: () => ({
    summary: 'Make a key',
    description: `For a program that acts in your name; for admins, in the name of any \`user\`. ${loginConfirmed} The answer has the key itself, which is never shown again. Send it as a token: \`Authorization: Bearer tb_…\`.`,
    body: {
      schema: refTo('NewKey'),
      example: { name: 'Nightly import', limits: { changes_per_hour: 1000 } },
    },
    answers: [
      {
        status: 201,
        description: 'The key.',
        headers: ['Location'],
        schema: refTo('KeyMade'),
        example: { ...sampleKey, key: 'tb_…' },
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'recent_login_required', 'too_many_attempts', 'disk_full'],
  }),
  run: makeKey,
})

export const listMyKeys = serverEndpoint({
  ...ofKeys,
  name: 'listKeys',
  method: 'GET',
  path: '/api/auth/keys/',
  parameters: ['user', 'everybody', 'limit', 'cursor'],
  describe: () => ({
    summary: 'List your keys',
    description: 'Without those that were ended.',
    answers: [
      {
        status: 200,
        description: 'The keys.',
        headers: [],
        schema: refTo('Keys'),
        example: { data: [sampleKey], next: null },
      },
    ],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: listKeys,
})

export const readMyKey = serverEndpoint({
  ...ofKeys,
  name: 'getKey',
  method: 'GET',
  path: '/api/auth/keys/{id}/',
  parameters: ['key'],
  describe: () => ({
    summary: 'Read a key',
    description: 'With what it has done. A key that was ended can be read, too.',
    answers: [{ status: 200, description: 'The key.', headers: [], schema: refTo('KeyInFull') }],
    codes: ['unauthenticated', 'not_found'],
  }),
  run: readKey,
})

export const changeMyKey = serverEndpoint({
  ...ofKeys,
  name: 'changeKey',
  method: 'PATCH',
  path: '/api/auth/keys/{id}/',
  parameters: ['key'],
  body: 'object',
  answer: 'kept',
  describe: () => ({
    summary: 'Change a key',
    description: `Sets the keys of the body, each as a whole; \`null\` removes a restriction. The key itself stays the same. ${loginConfirmed} Only a new name needs neither.`,
    body: { schema: refTo('KeyChange'), example: { expires_at: '2027-01-01T00:00:00Z' } },
    answers: [
      { status: 200, description: 'The key.', headers: [], schema: refTo('Key'), example: sampleKey },
    ],
    codes: [
      'unauthenticated',
      'recent_login_required',
      'not_found',
      'key_ended',
      'too_many_attempts',
      'disk_full',
    ],
  }),
  run: changeKey,
})
