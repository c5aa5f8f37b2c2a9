import { timingSafeEqual } from 'node:crypto'
import { type FirstAdminOffer, offerText } from '../../account/first-admin-offer.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
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

/** The account of the first admin, while nobody has taken it. */
interface OpenOffer extends FirstAdminOffer {
  readonly plan: Plan
}

/** Databases that are known to have a first admin. That never changes. */
const settled = new WeakSet<object>()

/** Returns the offer; undefined once its account is in use, or anybody else is or was an admin. */
export async function openOffer(context: Context): Promise<OpenOffer | undefined> {
  const { model, plans, store, firstAdmin } = context
  const plan = model.admins === undefined ? undefined : plans.get(model.admins)
  if (plan?.login === undefined || settled.has(store)) return undefined
  const offer = await firstAdmin.read()
  // The terminal does not show a token yet.
  if (offer === undefined) return undefined
  if (offer !== 'made') {
    const [other] = await store.read(plan.login.others, { $id: offer.id ?? 0 })
    if (other === undefined) return { ...offer, plan }
  }
  settled.add(store)
  return undefined
}

/**
 * The token that the terminal shows. Nothing else proves that somebody sits at this machine: a proxy on it need not add
 * headers, so requests of strangers can look like those of the machine itself.
 */
export function offerToken({ tokens }: Context, { nonce }: FirstAdminOffer): string {
  return tokens.digest('first admin').update(nonce).digest('base64url')
}

/** `POST /api/auth/first-admin/` */
async function makeFirstAdmin(context: Context, call: Call): Promise<Answer> {
  const { token, ...body } = call.body as Readonly<Record<string, unknown>>
  const offer = await openOffer(context)
  if (offer === undefined) throw new Failure('first_admin_exists')
  refuseStranger(context, offer, token)
  const { plan } = offer
  const make = () => (offer.id === null ? createFirst(context, offer, body) : takeOver(context, offer, body))
  const { shows } = await transact(context.store, make, call.signal)
  const id = shows[0]?.[1] ?? 0
  const self = await selfOf(context, plan, id)
  if (self === undefined) throw new Failure('not_found')
  return startSession(context, { ...self, plan, id }, 'password', call)
}

function refuseStranger(context: Context, offer: OpenOffer, token: unknown): void {
  if (token === undefined) throw invalidAt('token', 'is required: the terminal of the server shows it')
  if (typeof token !== 'string' || !isSame(token, offerToken(context, offer)))
    throw invalidAt('token', 'is wrong: the terminal of the server shows it')
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Creates the first admin, if the first start could not. */
function* createFirst(context: Context, offer: OpenOffer, body: object): Act<KeptAnswer> {
  const { plan } = offer
  yield* take(context, offer)
  return yield* vouching(context, plan, create(plan, system, body))
}

/** Gives the account that the first start created to the caller, if nobody has used it. */
function* takeOver(context: Context, offer: OpenOffer, body: object): Act<KeptAnswer> {
  const { plan, id } = offer
  yield* take(context, offer)
  const errors: Errors = new Map()
  for (const name of ['email', 'password'] as const)
    if (!Object.hasOwn(body, name)) addError(errors, name, 'is required')
  if (errors.size > 0) throw invalid(errors)
  const sent = { id: id ?? 0, body, mode: 'partial', when: { ifMatch: '|1|' }, query: Query.empty } as const
  try {
    return yield* vouching(context, plan, update(context, plan, system, sent))
  } catch (error) {
    // Somebody has changed the account since, so it is in use.
    if (error instanceof Failure && error.code === 'stale') throw new Failure('first_admin_exists')
    throw error
  }
}

/** Takes the offer. Throws if somebody else was faster. */
function* take({ firstAdmin }: Context, offer: OpenOffer): Act<void> {
  const { plan, id } = offer
  const { done } = yield* write(firstAdmin.take, { $offer: offerText(offer) })
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
  answer: 'secret',
  describe: () => ({
    summary: 'Create the first admin',
    description:
      'Creates the account of the first admin, and logs in. Works only while there is no admin, and only with the `token` that the terminal of the server shows. The body has all fields that an admin needs.',
    body: {
      schema: {
        type: 'object',
        properties: { token: { type: 'string' } },
        required: ['token'],
        additionalProperties: true,
      },
      example: { ...credentials, token: 'Xw3mT0kYqZ8vJ1nR5bLcHd7sGfUeAo2iPz9xVtKyQ4M' },
    },
    answers: [signedInAnswer],
    codes: ['first_admin_exists', 'own_login_required', 'busy', 'disk_full'],
  }),
  run: makeFirstAdmin,
})
