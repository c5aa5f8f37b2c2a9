import { createHash } from 'node:crypto'
import type { AccountId } from '../../account/account-id.ts'
import { isChallenge, newChallenge } from '../../account/challenges.ts'
import { relyingPartyOf } from '../../account/relying-party.ts'
import type { Attempt } from '../../account/throttle.ts'
import {
  ALGORITHMS,
  type Expected,
  type SentCredential,
  verifyNewPasskey,
  verifyPasskey,
} from '../../account/webauthn.ts'
import { budget } from '../../budget.ts'
import { isStorable } from '../../declare/fields/text.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import { actorName } from '../../plan/viewer/actor.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { parseId } from '../id.ts'
import { refuseOthers } from './account-link.ts'
import { chosenAccount } from './chosen-account.ts'
import { confirmOwner } from './confirm-owner.ts'
import { settingUp } from './second-factor.ts'
import { signedInUser } from './session.ts'
import { type Proven, selfOf, startSession } from './sign-in.ts'

type Body = Readonly<Record<string, unknown>>

const TIMEOUT_MS = budget.challengeMinutes * 60_000
const LOGIN = 'login'

/** `POST /api/auth/passkeys/options` `{password}`: returns the options with which a browser makes a passkey. */
export async function registrationOptions(context: Context, call: Call): Promise<Answer> {
  const self = await signedInUser(context, call.caller)
  const errors: Errors = new Map()
  refuseOthers(call.body, ['password'], errors)
  await confirmOwner(context, self, call, errors)
  const owner = { entity: self.plan.type.name, id: self.id }
  const known = await context.passkeys.list(owner)
  if (known.length >= budget.passkeys) throw tooManyPasskeys()
  const { id } = partyOf(context)
  return answerOf(200, {
    rp: { id, name: id },
    user: { id: handleOf(owner), name: self.email, displayName: self.email },
    challenge: newChallenge(context.tokens, purposeOf(owner)),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    excludeCredentials: known.map(({ credential }) => ({ type: 'public-key', id: credential })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
  })
}

/** `POST /api/auth/passkeys/` `{name, credential}` */
export async function addPasskey(context: Context, { caller, body }: Call): Promise<Answer> {
  const account = await chosenAccount(context, caller, undefined, new Map())
  const errors: Errors = new Map()
  refuseOthers(body, ['name', 'credential'], errors)
  const name = takeName(body as Body, errors)
  const sent = takeCredential(body as Body, errors)
  if (errors.size > 0) throw invalid(errors)
  const verified = await verifyNewPasskey(sent, expectedOf(context, purposeOf(account)))
  if (verified === undefined) throw new Failure('passkey_failed')
  const { challenge, passkey } = verified
  const before = await context.passkeys.list(account)
  const isFirst = before.length === 0 && (await context.factors.state(account)) === undefined
  const calling = isFirst ? settingUp(context, caller, account.entity) : context.sessions.holding(caller)
  if (!(await context.passkeys.add(account, challenge, { ...passkey, name }, calling))) {
    await context.identities.refuseEnded(caller)
    throw new Failure('passkey_failed')
  }
  context.identities.forget()
  const known = await context.passkeys.list(account)
  const added = known.find(({ credential }) => credential === passkey.credential)
  if (added === undefined) throw new Failure('passkey_failed')
  logPasskey(context, account, 'added', actorName(caller.actor) ?? '')
  const { credential: _, ...shown } = added
  return { ...answerOf(201, shown), headers: { Location: `/api/auth/passkeys/${added.id}/` } }
}

/** `GET /api/auth/passkeys/` */
export async function listPasskeys(context: Context, { caller, query }: Call<'user'>): Promise<Answer> {
  const errors: Errors = new Map()
  const account = await chosenAccount(context, caller, query.take(errors).user, errors)
  const found = await context.passkeys.list(account)
  return answerOf(200, { data: found.map(({ credential: _, ...shown }) => shown) })
}

/** `DELETE /api/auth/passkeys/<id>/` */
export async function removePasskey(context: Context, { caller, query, id }: Call<'user'>): Promise<Answer> {
  const errors: Errors = new Map()
  const account = await chosenAccount(context, caller, query.take(errors).user, errors)
  if (!(await context.passkeys.remove(account, parseId(id)))) throw new Failure('not_found')
  logPasskey(context, account, 'removed', actorName(caller.actor) ?? '')
  return { status: 204 }
}

/**
 * `POST /api/auth/passkeys/login/options`: the same for everybody. It names no passkeys: the authenticator knows its
 * own for this server, so nobody learns who has one.
 */
export function loginOptions(context: Context, { body }: Call): Answer {
  const errors: Errors = new Map()
  refuseOthers(body, [], errors)
  if (errors.size > 0) throw invalid(errors)
  return answerOf(200, {
    rpId: partyOf(context).id,
    challenge: newChallenge(context.tokens, LOGIN),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: [],
  })
}

/** `POST /api/auth/passkeys/login` `{credential}`: a passkey counts as two factors. */
export async function logInByPasskey(context: Context, call: Call): Promise<Answer> {
  const errors: Errors = new Map()
  refuseOthers(call.body, ['credential'], errors)
  const sent = takeCredential(call.body as Body, errors)
  if (errors.size > 0) throw invalid(errors)
  // A signature cannot be guessed. But verifying takes work, so whoever sends wrong ones must wait.
  const account = `passkey ${sent.id}` as const
  call.recordAccount(context.digestOf(account))
  const attempt: Attempt = { account, address: call.address, device: null, remembered: false }
  const passed = await context.throttle.attempt(attempt, () => ownerOfPasskey(context, sent))
  if (passed === undefined) throw new Failure('passkey_failed')
  call.recordAccount(context.digestOf(passed.found.key))
  return startSession(context, passed.found, 'passkey', call)
}

async function ownerOfPasskey(
  context: Context,
  sent: SentCredential,
): Promise<(Proven & { key: string }) | undefined> {
  const passkey = await context.passkeys.find(sent.id)
  const plan = passkey && context.plans.get(passkey.owner.entity)
  if (passkey === undefined || plan === undefined) return undefined
  const used = await verifyPasskey(sent, passkey, expectedOf(context, LOGIN))
  // Read before the passkey is used: if the account is reclaimed in between, this session ends with the others.
  const self = await selfOf(context, plan, passkey.owner.id)
  if (used === undefined || !(await context.passkeys.use(passkey, used.challenge, used.counter)))
    return undefined
  return self && { plan, id: passkey.owner.id, ...self }
}

function expectedOf(context: Context, purpose: string): Expected {
  const isOurs = (challenge: string) => isChallenge(context.tokens, purpose, challenge)
  return { party: partyOf(context), isChallenge: isOurs }
}

function partyOf({ settings: { mail, returnOrigins } }: Context) {
  return relyingPartyOf(mail.appUrl ?? mail.url, [...returnOrigins])
}

/** The purpose of a challenge for a new passkey. */
function purposeOf({ entity, id }: AccountId): string {
  return `register ${entity}/${id}`
}

/** The user handle: the same for all passkeys of the account, and it does not reveal who that is. */
function handleOf({ entity, id }: AccountId): string {
  return createHash('sha256').update(`passkeys of ${entity}/${id}`).digest('base64url')
}

function takeCredential(body: Body, errors: Errors): SentCredential {
  const sent = body.credential
  const response = isRecord(sent) ? sent.response : undefined
  if (sent === undefined) addError(errors, 'credential', 'is required')
  else if (!isRecord(sent) || typeof sent.id !== 'string' || !/^[\w-]{1,1400}$/.test(sent.id))
    addError(errors, 'credential', 'must be the JSON of a PublicKeyCredential')
  else if (!isRecord(response) || typeof response.clientDataJSON !== 'string')
    addError(errors, 'credential.response', 'must have clientDataJSON')
  else return sent as unknown as SentCredential
  return { id: '', response: { clientDataJSON: '' } }
}

function takeName(body: Body, errors: Errors): string {
  const name = body.name
  const most = budget.passkeyNameCharacters
  if (name === undefined) addError(errors, 'name', 'is required')
  else if (typeof name !== 'string' || name.trim() === '' || !isStorable(name))
    addError(errors, 'name', 'must be a text that is not empty')
  else if (name.length > most) addError(errors, 'name', `must have at most ${most} characters`)
  else return name
  return ''
}

function logPasskey(
  { observer }: Context,
  { entity, id }: AccountId,
  change: 'added' | 'removed',
  by: string,
): void {
  observer.emit({ kind: 'credential_changed', what: 'A passkey', account: `${entity}/${id}`, change, by })
}

function tooManyPasskeys(): Failure {
  return invalidAt('', `has ${budget.passkeys} passkeys already: remove one first`)
}

function answerOf(status: number, body: object): Answer {
  return { status, body: JSON.stringify(body) }
}
