import type { AccountName } from '../../account/providers/handoffs.ts'
import { LINKING } from '../../account/providers/linked.ts'
import { budget } from '../../budget.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { addError, type Errors, Failure } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { confirmOwner, ownerConfirmed } from './confirm-owner.ts'
import { takeCode } from './provider-exchange.ts'
import { parseReturn, providerOf } from './provider-start.ts'
import { type Self, signedInUser } from './session.ts'

function ownAccount({ plan, id }: Self): AccountName {
  return { entity: plan.type.name, id }
}

/** `POST /api/auth/providers/<name>/link`: returns the address where the owner of an account links a provider. */
async function link(context: Context, call: Call): Promise<Answer> {
  const provider = providerOf(context, call.params?.name)
  const self = await signedInUser(context, call.caller)
  const body = call.body as Record<string, unknown>
  const errors: Errors = new Map()
  for (const name of Object.keys(body))
    if (!LINK_FIELDS.includes(name)) addError(errors, name, 'is not a field here')
  const back = parseReturn(context, body, errors)
  await confirmOwner(context, self, call, errors)
  const text = await context.handoffs.make('link', {
    ...back,
    provider: provider.name,
    link: ownAccount(self),
  })
  const url = `${context.settings.mail.url}/api/auth/providers/${provider.name}/start?link=${text}`
  return { status: 201, body: JSON.stringify({ url }) }
}

const LINK_FIELDS = ['return_to', 'password', 'code_challenge']

/** `POST /api/auth/identities/`: links the identity with which a browser has come back. */
async function addIdentity(context: Context, call: Call): Promise<Answer> {
  const self = await signedInUser(context, call.caller)
  const account = ownAccount(self)
  const { kind, code, found } = await takeCode(context, call)
  const { identity, account: owner } = found
  // Somebody else may have started the login, and sent this browser here.
  if (identity === null || owner.entity !== account.entity || owner.id !== account.id)
    throw new Failure('invalid_code')
  const use = context.handoffs.using(kind, code)
  const add = context.linked.linking(identity, account)
  const calling = context.sessions.holding(call.caller)
  const outcome = await context.store.write(
    [...calling.steps, use.step, ...add.steps],
    { ...calling.params, ...use.params, ...add.params },
    call.signal,
  )
  if (!outcome.done) await context.identities.refuseEnded(call.caller)
  if (!outcome.done) throw new Failure(outcome.step === LINKING ? 'identity_taken' : 'invalid_code')
  const made = (await context.linked.list(account)).at(-1)
  return { status: 201, body: JSON.stringify(made && shown(made)) }
}

function shown({ id, provider, createdAt }: { id: number; provider: string; createdAt: string }): object {
  return { id, provider, created_at: createdAt }
}

async function listLinked(context: Context, { caller }: Call): Promise<Answer> {
  const found = await context.linked.list(ownAccount(await signedInUser(context, caller)))
  return { status: 200, body: JSON.stringify({ data: found.map(shown) }) }
}

/** Unlinks an identity. An account without a password keeps its last one. */
async function unlink(context: Context, call: Call): Promise<Answer> {
  const id = parseId(call.id)
  const self = await signedInUser(context, call.caller)
  const account = ownAccount(self)
  const isUnset = await context.linked.isUnset(account, self.hash)
  if (await context.linked.unlink(account, id, isUnset ? 'another' : 'any')) return { status: 204 }
  const isThere = (await context.linked.list(account)).some((one) => one.id === id)
  throw new Failure(isThere ? 'last_login' : 'not_found')
}

const identity: JsonSchema = closedObject(
  {
    id: { type: 'integer' },
    provider: { type: 'string' },
    created_at: { type: 'string', format: 'date-time' },
  },
  ['id', 'provider', 'created_at'],
)
const example = { id: 1, provider: 'google', created_at: '2026-06-02T17:00:00.000Z' }
const own = { tag: SESSIONS, access: 'signed-in', ownLogin: true } as const

export const linkProvider = serverEndpoint({
  ...own,
  name: 'linkProvider',
  method: 'POST',
  path: '/api/auth/providers/{name}/link',
  parameters: ['provider'],
  body: 'object',
  answer: 'secret',
  schemas: () => ({
    LinkRequest: closedObject(
      {
        return_to: { type: 'string', format: 'uri' },
        password: { type: 'string', format: 'password', writeOnly: true },
        code_challenge: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
      },
      [],
    ),
    LinkStart: closedObject({ url: { type: 'string', format: 'uri' } }, ['url']),
    Identity: identity,
    Identities: closedObject({ data: { type: 'array', items: refTo('Identity') } }, ['data']),
  }),
  describe: () => ({
    summary: 'Link a provider to your account',
    description: `Returns the URL that the browser must go to within ${budget.providerCodeSeconds} seconds. It comes back to \`return_to\` with a \`code\` for \`POST /api/auth/identities/\`. ${ownerConfirmed}`,
    body: {
      schema: refTo('LinkRequest'),
      example: { return_to: 'https://app.example.com/linked', password: 'correct horse battery staple' },
    },
    answers: [{ status: 201, description: 'Where to go.', headers: [], schema: refTo('LinkStart') }],
    codes: ['unauthenticated', 'recent_login_required', 'not_found', 'too_many_attempts', 'disk_full'],
  }),
  run: link,
})

export const listIdentities = serverEndpoint({
  ...own,
  name: 'listIdentities',
  method: 'GET',
  path: '/api/auth/identities/',
  parameters: [],
  describe: () => ({
    summary: 'List your linked providers',
    description: 'The identities at providers with which you can log in.',
    answers: [
      {
        status: 200,
        description: 'The identities, oldest first.',
        headers: [],
        schema: refTo('Identities'),
        example: { data: [example] },
      },
    ],
    codes: ['unauthenticated'],
  }),
  run: listLinked,
})

export const linkIdentity = serverEndpoint({
  ...own,
  name: 'linkIdentity',
  method: 'POST',
  path: '/api/auth/identities/',
  parameters: [],
  body: 'object',
  answer: 'kept',
  describe: () => ({
    summary: 'Finish linking a provider',
    description: 'Takes the `code` with which the browser came back from the provider, once.',
    body: { schema: refTo('ProviderCode'), example: { code: 'wq3eN1v0…' } },
    answers: [{ status: 201, description: 'Linked.', headers: [], schema: refTo('Identity'), example }],
    codes: ['unauthenticated', 'identity_taken', 'invalid_code', 'too_many_attempts', 'disk_full'],
  }),
  run: addIdentity,
})

export const unlinkIdentity = serverEndpoint({
  ...own,
  name: 'unlinkIdentity',
  method: 'DELETE',
  path: '/api/auth/identities/{id}/',
  parameters: ['identity'],
  answer: 'kept',
  describe: () => ({
    summary: 'Unlink a provider',
    description: 'An account without a password keeps its last identity.',
    answers: [{ status: 204, description: 'Unlinked.', headers: [] }],
    codes: ['unauthenticated', 'not_found', 'last_login', 'disk_full'],
  }),
  run: unlink,
})
