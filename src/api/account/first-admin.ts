import { timingSafeEqual } from 'node:crypto'
import { type FirstAdminOffer, offerText } from '../../account/first-admin-offer.ts'
import { type Errors, Failure, invalid, note } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { system } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import type { Call } from '../call.ts'
import type { Answer, Context, KeptAnswer } from '../context.ts'
import { SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { transact } from '../perform.ts'
import { Query } from '../query.ts'
import { create } from '../write/create.ts'
import { update } from '../write/update.ts'
import { credentials } from './login.ts'
import { selfOf, signedInAnswer, startSession } from './sign-in.ts'
import { vouching } from './verified.ts'

/** The account of the first admin, while it is still to be had. */
interface OpenOffer extends FirstAdminOffer {
  readonly plan: Plan
}

/** Databases in which the first admin is known to be there: that never changes. */
const settled = new WeakSet<object>()

/** Undefined once somebody is, or was, an admin of their own. */
export async function openOffer(context: Context): Promise<OpenOffer | undefined> {
  const { model, plans, store, firstAdmin } = context
  const plan = model.admins === undefined ? undefined : plans.get(model.admins)
  if (plan?.login === undefined || settled.has(store)) return undefined
  const offer = await firstAdmin.read()
  const known = offer === undefined ? { id: null, nonce: '' } : offer
  if (known !== 'made') {
    const [other] = await store.read(plan.login.others, { $id: known.id ?? 0 })
    if (other === undefined) return { ...known, plan }
  }
  settled.add(store)
  return undefined
}

/** What the terminal shows, for those who are not at this machine; undefined if it shows none. */
export function offerToken({ tokens }: Context, { nonce }: FirstAdminOffer): string | undefined {
  return nonce === '' ? undefined : tokens.digest('first admin').update(nonce).digest('base64url')
}

/** Whether a call proves by itself that it comes from this machine. A server with a public address has proxies before it. */
export function isAtHome({ settings }: Context, { local = false }: Pick<Call, 'local'>): boolean {
  return (
    local && /^(localhost|127\.\d+\.\d+\.\d+|\[::1?\]|0\.0\.0\.0)$/.test(new URL(settings.mail.url).hostname)
  )
}

/** `POST /api/auth/first-admin/` */
async function makeFirstAdmin(context: Context, call: Call): Promise<Answer> {
  const { token, ...body } = call.body as Readonly<Record<string, unknown>>
  const offer = await openOffer(context)
  if (offer === undefined) throw new Failure('first_admin_exists')
  refuseStranger(context, call, offer, token)
  const { plan } = offer
  const make = () => (offer.id === null ? createFirst(context, offer, body) : takeOver(context, offer, body))
  const { shows } = await transact(context.store, make, call.signal)
  const id = shows[0]?.[1] ?? 0
  const self = await selfOf(context, plan, id)
  if (self === undefined) throw new Failure('not_found')
  return startSession(context, { ...self, plan, id }, 'password', call)
}

function refuseStranger(context: Context, call: Call, offer: OpenOffer, token: unknown): void {
  const errors: Errors = new Map()
  const expected = offerToken(context, offer)
  if (token === undefined && isAtHome(context, call)) return
  if (token === undefined) note(errors, 'token', 'is required: the terminal of the server shows it')
  else if (typeof token !== 'string' || expected === undefined || !isSame(token, expected))
    note(errors, 'token', 'is wrong: the terminal of the server shows it')
  if (errors.size > 0) throw invalid(errors)
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** There is no admin yet. */
function* createFirst(context: Context, offer: OpenOffer, body: object): Act<KeptAnswer> {
  const { plan } = offer
  yield* take(context, offer)
  return yield* vouching(context, plan, create(plan, system, body))
}

/** Nobody has used the account that the first start made: from now on it is theirs. */
function* takeOver(context: Context, offer: OpenOffer, body: object): Act<KeptAnswer> {
  const { plan, id } = offer
  yield* take(context, offer)
  const errors: Errors = new Map()
  for (const name of ['email', 'password'] as const)
    if (!Object.hasOwn(body, name)) note(errors, name, 'is required')
  if (errors.size > 0) throw invalid(errors)
  const sent = { id: id ?? 0, body, manner: 'partial', when: { ifMatch: '|1|' }, query: Query.empty } as const
  try {
    return yield* vouching(context, plan, update(context, plan, system, sent))
  } catch (error) {
    // Somebody has changed it since: it is in use.
    if (error instanceof Failure && error.code === 'stale') throw new Failure('first_admin_exists')
    throw error
  }
}

/** Throws if another one was faster. */
function* take({ firstAdmin }: Context, offer: OpenOffer): Act<void> {
  const { plan, nonce, id } = offer
  const steps = nonce === '' ? firstAdmin.take.bare : firstAdmin.take.offered
  const { done } = yield* write(steps, { $offer: offerText(offer) })
  const others = plan.login && (yield* read(plan.login.others, { $id: id ?? 0 }))
  if (!done || (others?.length ?? 0) > 0) throw new Failure('first_admin_exists')
}

export const postFirstAdmin = serverEndpoint({
  name: 'makeFirstAdmin',
  method: 'POST',
  path: '/api/auth/first-admin/',
  tag: SESSIONS,
  parameters: [],
  body: 'object',
  access: 'everyone',
  ownLogin: true,
  describe: () => ({
    summary: 'Make the first admin',
    description:
      'Makes the account of the first admin, and logs in. Only until somebody is an admin, and only from the machine of the server itself, or with the `token` that its terminal shows at the first start. The body has all that an admin must have.',
    body: {
      schema: { type: 'object', properties: { token: { type: 'string' } }, additionalProperties: true },
      example: credentials,
    },
    answers: [signedInAnswer],
    codes: ['first_admin_exists', 'own_login_required', 'busy', 'disk_full'],
  }),
  run: makeFirstAdmin,
})
