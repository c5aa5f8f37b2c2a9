import { budget } from '../../budget.ts'
import { isRecord } from '../../declare/record.ts'
import type { Values } from '../../declare/values.ts'
import { addError, addErrors, type Errors, Failure, invalid, invalidAt, placed } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import { signsUp } from '../account/sign-up.ts'
import type { Call } from '../call.ts'
import { type Answer, type Context, type KeptAnswer, operationOf } from '../context.ts'
import { OPERATIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { replayOf } from '../idempotency.ts'
import { writing } from '../parameters.ts'
import { malformedIn, Query } from '../query.ts'
import { refuseNumber } from '../read/list-body.ts'
import { isTagList, TAGS_EXPECTED } from '../tags.ts'
import { batchSchemas, describeBatch } from './batch-description.ts'
import { lockAhead } from './batch-locks.ts'
import { create } from './create.ts'
import type { HookCaller } from './hook-run.ts'
import { beforeCreate, beforeDelete, beforeUpdate, hasHook, hookCallerOf } from './hooks.ts'
import { transactPlanned } from './planned.ts'
import {
  Allowance,
  type Answered,
  bodyForHook,
  type Filling,
  fillIn,
  fillInIds,
  fillInText,
  isPartReference,
} from './references.ts'
import { REMOVALS, remove, removeEntity } from './remove.ts'
import { parseIfMatch, patchEntity, update } from './update.ts'
import { beforeUpsert, type HookedUpsert, upsert, upsertEntity } from './upsert.ts'

const METHODS = ['POST', 'PATCH', 'PUT', 'DELETE'] as const
const HOOKS = { POST: 'create', PATCH: 'update', PUT: 'update', DELETE: 'delete' } as const

/** One write of a batch, as far as it is known before the earlier ones are done. */
interface BatchPart {
  readonly method: (typeof METHODS)[number]
  readonly plan: Plan
  /** The id in the path: a number, or a reference to an earlier part. A create or an upsert has none. */
  readonly id: string | undefined
  readonly query: Query
  readonly body: unknown
  readonly ifMatch: string | null
  /** If a hook has changed the body: what the caller sent, or what the hook sets. */
  readonly sent?: object
  readonly own?: Values
  /** For an upsert: what a hook made of the body. */
  readonly hooked?: HookedUpsert | undefined
}

/** `POST /api/batch/`: makes writes of any kind, all or none, as one operation. To be run in one transaction. */
export function* batch(
  context: Context,
  actor: Actor,
  sent: unknown,
  parts: readonly BatchPart[] = parseParts(context, sent),
): Act<KeptAnswer> {
  const { $operation } = operationOf(actor)
  yield* lockAhead(context, parts)
  const allowance = new Allowance(sent)
  const answers: KeptAnswer[] = []
  let bytes = 0
  const answered: { readonly value: unknown }[] = []
  for (const [at, part] of parts.entries()) {
    try {
      const answer = yield* runPart(context, actor, part, { answered, operation: $operation, allowance })
      bytes += Buffer.byteLength(answer.body ?? '')
      if (bytes > budget.answerBytes)
        throw invalidAt('', `makes the answer larger than ${budget.answerBytes} bytes: send fewer parts`)
      answers.push(answer)
      answered.push(new Lazy(answer.body))
    } catch (error) {
      throw error instanceof Failure ? placed(error, at) : error
    }
  }
  const written = answers.some(({ headers }) => headers?.['Takeback-Operation'] !== undefined)
  return {
    status: 200,
    body: `{"results":[${answers.map(resultOf).join(',')}]}`,
    ...(written && { headers: { 'Takeback-Operation': $operation } }),
    shows: answers.flatMap(({ shows }) => shows),
  }
}

/** Runs the hooks of the parts in order, before anything is written. */
async function beforeParts(context: Context, call: Call): Promise<readonly BatchPart[]> {
  const hookCaller = { ...hookCallerOf(call), isBatch: true }
  const hooked: BatchPart[] = []
  const creates: boolean[] = []
  for (const [at, part] of parseParts(context, call.body).entries())
    try {
      hooked.push(await beforePart(context, hookCaller, part, creates))
      creates.push(part.method === 'POST')
    } catch (error) {
      throw error instanceof Failure ? placed(error, at) : error
    }
  return hooked
}

/** `creates`: which earlier parts create an Entity. */
async function beforePart(
  context: Context,
  hookCaller: HookCaller,
  part: BatchPart,
  creates: readonly boolean[],
): Promise<BatchPart> {
  const { method, plan, query, ifMatch } = part
  const hook = HOOKS[method]
  const isUpsert = hook === 'update' && part.id === undefined
  if (!hasHook(plan, hook) && !(isUpsert && hasHook(plan, 'create'))) return part
  if (REMOVALS.some((name) => query.asks(name))) return part
  const errors: Errors = new Map()
  const body = bodyForHook(part.body, creates, errors)
  if (errors.size > 0) throw invalid(errors)
  if (isUpsert) {
    const about = { query, when: { ifMatch }, body }
    return { ...part, hooked: await beforeUpsert(context, plan, hookCaller, about) }
  }
  if (hook === 'create') return { ...part, ...(await beforeCreate(context, plan, hookCaller, body)) }
  if (isPartReference(part.id ?? ''))
    throw invalidAt('path', `must name an Entity that exists: ${plan.type.name} have code before ${hook}`)
  const about = { id: parseId(part.id ?? ''), when: { ifMatch } }
  if (hook === 'update')
    return { ...part, ...(await beforeUpdate(context, plan, hookCaller, { ...about, body })) }
  await beforeDelete(context, plan, hookCaller, about)
  return part
}

/** What a part needs from its batch. */
interface Around {
  readonly answered: Answered
  readonly operation: string
  readonly allowance: Allowance
}

function* runPart(
  context: Context,
  actor: Actor,
  { method, plan, id: sentId, query, body: sentBody, ifMatch, sent, own: sentOwn, hooked }: BatchPart,
  { answered, operation, allowance }: Around,
): Act<KeptAnswer> {
  const errors: Errors = new Map()
  const filling = { answered, errors, allowance }
  const id = String(fillInText(sentId ?? '', 'path', filling))
  const body = sent === undefined ? fillIn(sentBody, '', filling) : fillInIds(sentBody, filling)
  const own = fillInIds(sentOwn, filling) as Values | undefined
  const before = fillInIds(sent, filling) as object | undefined
  const upserted = filledUpsert(hooked, filling)
  if (errors.size > 0) throw invalid(errors)
  if (method === 'POST') return yield* create(plan, actor, body, { query, operation, sent: before })
  if (sentId === undefined)
    return yield* upsert(context, plan, actor, {
      query,
      when: { ifMatch },
      body,
      operation,
      hooked: upserted,
    })
  const about = { id: parseId(id), query, when: { ifMatch }, operation }
  if (method === 'DELETE') return yield* remove(context, plan, actor, about)
  const mode = method === 'PATCH' ? 'partial' : 'replace'
  return yield* update(context, plan, actor, { ...about, body, own, mode, sent: before })
}

function filledUpsert(hooked: HookedUpsert | undefined, filling: Filling): HookedUpsert | undefined {
  if (hooked === undefined) return undefined
  const { id, ...bodies } = hooked
  return { id, ...(fillInIds(bodies, filling) as Omit<HookedUpsert, 'id'>) }
}

function resultOf({ status, body = 'null', headers = {} }: Answer): string {
  const { ETag: etag, Location: location } = headers
  const more = JSON.stringify({ etag, location })
  return `{"status":${status},"body":${body}${more === '{}' ? '' : `,${more.slice(1, -1)}`}}`
}

/** The body of an answer, which is parsed only if a later part refers to it. */
class Lazy {
  readonly #text: string | undefined
  #value: unknown

  constructor(text: string | undefined) {
    this.#text = text
  }

  get value(): unknown {
    if (this.#text !== undefined) this.#value ??= JSON.parse(this.#text)
    return this.#value
  }
}

/** Counts the parts that are sign-ups. Errors in the parts are reported by the batch itself. */
export function signUpsIn(context: Context, actor: Actor, sent: unknown): number {
  if (actor.kind !== 'nobody' || !Array.isArray(sent)) return 0
  const parts = sent.slice(0, budget.batchParts).map((one) => parsePart(context, one, new Map()))
  return parts.filter((part) => part?.id === undefined && part && signsUp(part.plan, actor)).length
}

/** Reads the parts, and reports all errors in them at once. */
function parseParts(context: Context, sent: unknown): BatchPart[] {
  if (!Array.isArray(sent)) throw invalidAt('', 'must be a list of parts')
  refuseNumber(sent.length)
  const errors: Errors = new Map()
  const parts = sent.flatMap((one: unknown, at) => {
    const own: Errors = new Map()
    const part = parsePart(context, one, own)
    if (own.size > 0) addErrors(errors, placed(invalid(own), at).errors ?? own)
    return part === undefined ? [] : [part]
  })
  if (errors.size > 0) throw invalid(errors)
  return parts
}

function parsePart(context: Context, sent: unknown, errors: Errors): BatchPart | undefined {
  if (!isRecord(sent))
    return addError(errors, '', 'must be an object with method, path and, if the method needs one, body')
  for (const name of Object.keys(sent))
    if (!['method', 'path', 'body', 'if_match'].includes(name)) addError(errors, name, 'is not known here')
  const method = METHODS.find((one) => one === sent.method)
  if (method === undefined) addError(errors, 'method', `must be one of ${METHODS.join(', ')}`)
  const place = parsePlace(context, sent.path, method, errors)
  if (method === undefined || place === undefined) return undefined
  if (method === 'POST' ? place.id !== undefined : method !== 'PUT' && place.id === undefined)
    addError(errors, 'method', 'is not allowed for this path')
  if (method === 'DELETE') {
    if (sent.body !== undefined) addError(errors, 'body', 'is not allowed with DELETE')
  } else if (sent.body === undefined) addError(errors, 'body', 'is required')
  else if (!isRecord(sent.body)) addError(errors, 'body', 'must be an object')
  const ifMatch = sent.if_match ?? null
  if (ifMatch !== null && typeof ifMatch !== 'string')
    addError(errors, 'if_match', 'must be a text, such as "3" with its quotes')
  else if (ifMatch !== null && !isTagList(ifMatch)) addError(errors, 'if_match', TAGS_EXPECTED)
  else if (ifMatch !== null && method === 'POST') addError(errors, 'if_match', 'is not allowed with POST')
  return {
    ...place,
    method,
    body: sent.body,
    ifMatch: typeof ifMatch === 'string' ? parseIfMatch(ifMatch) : null,
  }
}

/** Matches `/api/<entity>/` and `/api/<entity>/<id>/`, with and without the last `/`. */
const PATH = /^\/api\/([a-z][a-z0-9_]*)(?:\/([^/?]+))?\/?(?:\?(.*))?$/

function parsePlace(
  context: Context,
  path: unknown,
  method: BatchPart['method'] | undefined,
  errors: Errors,
): Pick<BatchPart, 'plan' | 'id' | 'query'> | undefined {
  const [, name = '', id, search = ''] = (typeof path === 'string' && PATH.exec(path)) || []
  const plan = context.plans.get(name)
  if (plan === undefined)
    return addError(errors, 'path', 'must be /api/<entity>/ or /api/<entity>/<id>/ of a declared Entity type')
  const parameters = new URLSearchParams(search)
  if (parameters.has('token')) addError(errors, 'path', 'must not have a token: the batch has one')
  const malformed = malformedIn(search)
  return { plan, id, query: new Query<string>(parameters, takenBy(method, id), { malformed }) }
}

/** The parameters that the path of a part may have. */
function takenBy(method: BatchPart['method'] | undefined, id: string | undefined): readonly string[] {
  if (method === 'DELETE') return removeEntity.takes
  if (method === 'PATCH' && id !== undefined) return patchEntity.takes
  return method === 'PUT' && id === undefined ? upsertEntity.takes : []
}

export const writeBatch = serverEndpoint({
  name: 'batch',
  method: 'POST',
  path: '/api/batch/',
  tag: OPERATIONS,
  parameters: [...writing],
  plans: 'apart',
  body: 'any',
  access: 'everyone',
  schemas: () => batchSchemas,
  describe: describeBatch,
  async run(context, call) {
    const { actor } = call.caller
    await call.signUp(signUpsIn(context, actor, call.body))
    if (![...context.plans.values()].some(({ type }) => type.before !== undefined))
      return transactPlanned(context, call, () => batch(context, actor, call.body))
    const known = await replayOf(context, call)
    if (known !== undefined) return known
    const parts = await beforeParts(context, call)
    return transactPlanned(context, call, () => batch(context, actor, call.body, parts))
  },
})
