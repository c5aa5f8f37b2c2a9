import { didYouMean } from '../../declare/closest.ts'
import { actions } from '../../declare/define.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, catalogue, type Errors, Failure, invalid, shownErrors } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Actor, nobody, parseActor, passesRules, system } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import { checkSignUp } from '../account/concealed-sign-up.ts'
import { concealsSignUp, signsUp } from '../account/sign-up.ts'
import type { Call } from '../call.ts'
import { type Answer, allow, allowed, type Context, callerParams, stateOf } from '../context.ts'
import { closedObject, exampleType, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { refuseUnchangeable } from '../live.ts'
import { perform, performDryRun } from '../perform.ts'
import { Query } from '../query.ts'
import { create } from '../write/create.ts'
import { remove, removeEntity } from '../write/remove.ts'
import { update } from '../write/update.ts'

/** The actions that can be asked about: those of rules, and `list`. */
const MAY_ACTIONS = ['list', ...actions] as const
/** Actions on a type. The others are on an Entity. */
const OF_TYPE: readonly string[] = ['list', 'create']
const WITH_BODY: readonly string[] = ['create', 'update']

/** The question whether somebody may do something. */
export interface Question {
  readonly action: (typeof MAY_ACTIONS)[number]
  /** Undefined for a type that is not declared. */
  readonly plan: Plan | undefined
  /** The id in the path, if it has one. */
  readonly id: string | undefined
  readonly body: object | undefined
}

/** Returns the failure that the request would get, or undefined if it would succeed. Writes nothing. */
export async function denialReason(
  context: Context,
  actor: Actor,
  question: Question,
): Promise<Failure | undefined> {
  const { action, body } = question
  const writes = WITH_BODY.includes(action) ? body !== undefined : REMOVALS.includes(action)
  try {
    const make = () => attempt(context, actor, question)
    await (writes ? performDryRun(context.store, make) : perform(context.store, make()))
    return undefined
  } catch (error) {
    // Failures such as `rate_limited` or `busy` do not answer the question.
    if (error instanceof Failure && catalogue[error.code].status < 429 && error.code !== 'busy') return error
    throw error
  }
}

const REMOVALS: readonly string[] = ['delete', 'restore', 'purge']

function* attempt(context: Context, actor: Actor, { action, plan, id = '', body }: Question): Act<void> {
  if (plan === undefined) throw new Failure('not_found')
  if (action === 'list') return allow(plan, 'read', actor, true)
  if (action === 'create') {
    if (body === undefined) allow(plan, 'create', actor, true)
    else if (concealsSignUp(plan, actor)) yield* checkSignUp(plan, { body })
    else yield* create(plan, actor, body)
    return
  }
  const about = { id: parseId(id), when: { ifMatch: null } }
  if (REMOVALS.includes(action)) {
    const query = new Query(action === 'delete' ? [] : [[action, '1']], removeEntity.takes)
    yield* remove(context, plan, actor, { ...about, query })
  } else if (action === 'update' && body !== undefined)
    yield* update(context, plan, actor, { ...about, body, mode: 'partial', query: Query.empty })
  else if (action === 'update') {
    allow(plan, 'update', actor)
    yield* refuseUnchangeable(plan, actor, about.id)
  } else yield* refuseHidden(plan, actor, action, about.id)
}

function* refuseHidden(plan: Plan, actor: Actor, action: Question['action'], id: number): Act<void> {
  const asked = action === 'history' ? 'history' : 'read'
  allow(plan, 'read', actor)
  allow(plan, asked, actor)
  const state = yield* stateOf(plan.view(actor), { ...callerParams(actor), $id: id })
  // A deleted Entity still has its history.
  if (state !== undefined && state.deletion !== null && asked === 'read') throw new Failure('not_found')
  allowed(plan, asked, actor, state)
}

/** `POST /api/may/` */
async function answerMay(context: Context, call: Call): Promise<Answer> {
  const sent = call.body as Readonly<Record<string, unknown>>
  const caller = call.caller.actor
  if (sent.actor !== undefined && !passesRules(caller))
    throw new Failure('forbidden', { denied: 'actor: only admins ask for others' })
  const errors: Errors = new Map()
  for (const name of Object.keys(sent))
    if (!['actor', 'action', 'path', 'body'].includes(name)) addError(errors, name, 'is not known here')
  const question = parseQuestion(context, sent, errors)
  const actor = sent.actor === undefined ? caller : await parseActorParameter(context, sent.actor, errors)
  if (errors.size > 0 || question === undefined || actor === undefined) throw invalid(errors)
  const { action, plan } = question
  // Trying a sign-up reveals which e-mails are taken, as the sign-up itself does.
  if (action === 'create' && plan !== undefined && signsUp(plan, actor)) await call.signUp(1)
  const failure = await denialReason(context, actor, question)
  if (failure === undefined) return { status: 200, body: '{"may":true}' }
  const { code, denied } = failure
  const body = {
    may: false,
    code,
    ...(failure.errors !== undefined && { errors: shownErrors(failure.errors) }),
    ...(context.explainsDenials && denied !== undefined && { denied_by: denied }),
  }
  return { status: 200, body: JSON.stringify(body) }
}

/** Matches `/api/bookings/7/`, `bookings/7` and `bookings`. */
const PATH = /^(?:\/?api\/|\/)?([a-z][a-z0-9_]*)(?:\/([1-9]\d*))?\/?$/

/** Reads a question, and notes all errors. */
export function parseQuestion(
  context: Pick<Context, 'plans'>,
  { action: asked, path, body }: Readonly<Record<string, unknown>>,
  errors: Errors,
): Question | undefined {
  const action = MAY_ACTIONS.find((one) => one === asked)
  if (action === undefined)
    addError(
      errors,
      'action',
      () => `must be one of ${MAY_ACTIONS.join(', ')}${didYouMean(String(asked), MAY_ACTIONS)}`,
    )
  const [, name, id] = (typeof path === 'string' && PATH.exec(path)) || []
  if (name === undefined) addError(errors, 'path', 'must be a path, such as /api/bookings/7/ or bookings')
  else if (action !== undefined && OF_TYPE.includes(action) !== (id === undefined))
    addError(
      errors,
      'path',
      id === undefined ? `must have an id: ${name}/7` : `must be that of the type: ${name}`,
    )
  if (body !== undefined && !isRecord(body)) addError(errors, 'body', 'must be an object')
  else if (body !== undefined && action !== undefined && !WITH_BODY.includes(action))
    addError(errors, 'body', `is only for ${WITH_BODY.join(' and ')}`)
  if (action === undefined || name === undefined) return undefined
  return { action, plan: context.plans.get(name), id, body: isRecord(body) ? body : undefined }
}

/** Reads the actor for whom an admin asks: `users/3` or `nobody`. */
async function parseActorParameter(
  context: Context,
  text: unknown,
  errors: Errors,
): Promise<Actor | undefined> {
  if (text === 'nobody') return nobody
  const logins = context.model.logins.map(({ name }) => name)
  const found = typeof text === 'string' ? parseActor(text, logins, errors)?.user : undefined
  if (errors.has('actor')) return undefined
  if (found?.id == null) return addError(errors, 'actor', 'must be a user, such as users/3, or nobody')
  const { name: entity, id } = found
  const plan = context.plans.get(entity)
  const [row] = plan === undefined ? [] : await context.store.read(plan.view(system).lists.read, { $id: id })
  if (row === undefined) return addError(errors, 'actor', 'refers to nothing')
  return { kind: 'user', entity, id, admin: entity === context.model.admins }
}

const schemas: Readonly<Record<string, JsonSchema>> = {
  MayQuestion: closedObject(
    {
      action: { type: 'string', enum: [...MAY_ACTIONS] },
      path: {
        type: 'string',
        description: 'The path of an Entity, or of a type for `list` and `create`.',
      },
      body: {
        type: 'object',
        additionalProperties: true,
        description: 'For `create` and `update`: the body that would be sent.',
      },
      actor: {
        type: 'string',
        description: 'Only for admins: on whose behalf to ask, `users/3` or `nobody`.',
      },
    },
    ['action', 'path'],
  ),
  MayAnswer: closedObject(
    {
      may: { type: 'boolean' },
      code: { type: 'string', description: 'Why not: the code of the error that the request would get.' },
      errors: {
        type: 'object',
        additionalProperties: { type: 'array', items: { type: 'string' } },
        description: 'What is wrong, by dot path, as the request itself would report it.',
      },
      denied_by: { type: 'string', description: 'The rule, if the server runs with `--explain-denials`.' },
    },
    ['may'],
  ),
}

export const askMay = serverEndpoint({
  name: 'may',
  method: 'POST',
  path: '/api/may/',
  tag: SESSIONS,
  parameters: [],
  body: 'object',
  reads: true,
  // It tries the write.
  writes: true,
  access: 'everyone',
  schemas: () => schemas,
  describe: ({ model, sample }) => {
    const type = exampleType(model)
    return {
      summary: 'Ask whether a request would be allowed',
      description:
        'Says whether a request would succeed. Nothing is written. Without a `body`, `create` and `update` say whether any values could be allowed. Admins can ask for somebody else with `actor`.',
      body: {
        schema: refTo('MayQuestion'),
        example: {
          action: 'create',
          path: `/api/${type?.name}/`,
          ...(type !== undefined && { body: sample(type) }),
        },
      },
      answers: [{ status: 200, description: 'Whether it would.', headers: [], schema: refTo('MayAnswer') }],
      codes: ['forbidden', 'busy', 'disk_full'],
    }
  },
  run: answerMay,
})
