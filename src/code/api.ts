import type { AnyAnswer, Context } from '../api/context.ts'
import type { EntityEndpoint, ServerEndpoint } from '../api/endpoint.ts'
import { readHistory } from '../api/past/history.ts'
import { undoOperation } from '../api/past/undo.ts'
import { equalities } from '../api/query.ts'
import { listEntities } from '../api/read/list.ts'
import { readEntity } from '../api/read/read.ts'
import { writeBatch } from '../api/write/batch.ts'
import { createEntity } from '../api/write/create-many.ts'
import { removeEntity } from '../api/write/remove.ts'
import { patchEntity } from '../api/write/update.ts'
import type {
  BatchResult,
  GetRequest,
  ListRequest,
  UndoOptions,
  UpdateOptions,
  WriteOptions,
} from '../declare/api-types.ts'
import { didYouMean } from '../declare/closest.ts'
import { isRecord } from '../declare/record.ts'
import { Failure } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { passesRules, system, userOf } from '../plan/viewer/actor.ts'
import { apiErrorOf, NotInPlan } from './errors.ts'
import { type Acting, InnerCall, type InnerRequest } from './inner-call.ts'
import { asSent } from './json.ts'

/** The API for the user's code: calls the endpoints themselves, with an Actor. */
export function apiOf(context: Context, acting: Acting): object {
  const made = new Map<string, unknown>()
  const make = (name: string): unknown => {
    const plan = context.plans.get(name)
    if (plan !== undefined) return new EntityCalls(context, acting, plan)
    if (name === 'operations') return new OperationCalls(context, acting)
    if (name === 'batch') return (parts: unknown) => runBatch(context, acting, parts)
    if (name === 'system') return apiOf(context, asSystem(acting))
    throw new TypeError(`there is no Entity type "${name}"${didYouMean(name, [...context.plans.keys()])}`)
  }
  return new Proxy(Object.freeze({}), {
    get(_, name) {
      // `await` and `console.log` look up such names.
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined
      if (!made.has(name)) made.set(name, make(name))
      return made.get(name)
    },
  })
}

/** Jobs and reactions already pass every rule, and keep their name. */
function asSystem(acting: Acting): Acting {
  const { actor } = acting.caller
  if (passesRules(actor) && userOf(actor) === undefined) return acting
  return { ...acting, caller: { actor: system, session: undefined, expired: false } }
}

interface CallResult {
  readonly value: unknown
  readonly operation: string | null
}

/** Returns the answer of an endpoint, or throws an error that the user's code can catch. */
async function answerOf(acting: Acting, run: () => AnyAnswer | Promise<AnyAnswer>): Promise<CallResult> {
  try {
    if (acting.signal.aborted)
      throw new Failure('unavailable', { cause: new Error('the code has taken too long') })
    const { body, headers } = await run()
    return {
      value: typeof body === 'string' ? JSON.parse(body) : undefined,
      operation: headers?.['Takeback-Operation'] ?? null,
    }
  } catch (error) {
    throw apiErrorOf(error, acting.caller.actor.kind !== 'system')
  }
}

function sentBody(given: unknown): object {
  const sent = asSent(given)
  if (typeof sent !== 'object' || sent === null) throw new Failure('not_an_object')
  return sent
}

/** The calls of one Entity type. */
class EntityCalls {
  readonly #context: Context
  readonly #acting: Acting
  readonly #plan: Plan

  constructor(context: Context, acting: Acting, plan: Plan) {
    this.#context = context
    this.#acting = acting
    this.#plan = plan
  }

  async #call(endpoint: EntityEndpoint, request: InnerRequest | (() => InnerRequest)): Promise<unknown> {
    const { value } = await answerOf(this.#acting, () => {
      refuseWrites(this.#acting, endpoint)
      const call = new InnerCall(
        this.#acting,
        endpoint.takes,
        typeof request === 'function' ? request() : request,
      )
      return endpoint.run(this.#context, this.#plan, call)
    })
    return value
  }

  async create(body: unknown): Promise<unknown> {
    const made = await this.#call(createEntity, () => ({ body: sentBody(body) }))
    return Array.isArray(body) ? (made as { data: unknown }).data : made
  }

  get(id: number, options: GetRequest = {}): Promise<unknown> {
    return this.#call(readEntity, { id: String(id), ...withQuery(options) })
  }

  list({ where = {}, ...options }: ListRequest = {}): Promise<unknown> {
    const { filter, ...rest } = options
    return this.#call(listEntities, () => withQuery(rest, equalities(where, listEntities.takes, filter)))
  }

  update(id: number, changes: unknown, { version, base }: UpdateOptions = {}): Promise<unknown> {
    const about = { id: String(id), version, ...withQuery({ base }) }
    return this.#call(patchEntity, () => ({ ...about, body: sentBody(changes) }))
  }

  delete(id: number, { version }: WriteOptions = {}): Promise<unknown> {
    return this.#call(removeEntity, { id: String(id), version })
  }

  restore(id: number): Promise<unknown> {
    return this.#call(removeEntity, { id: String(id), query: { restore: '1' } })
  }

  async purge(id: number): Promise<void> {
    await this.#call(removeEntity, { id: String(id), query: { purge: '1' } })
  }

  history(id: number, options: Pick<ListRequest, 'limit' | 'cursor'> = {}): Promise<unknown> {
    return this.#call(readHistory, { id: String(id), ...withQuery(options) })
  }
}

class OperationCalls {
  readonly #context: Context
  readonly #acting: Acting

  constructor(context: Context, acting: Acting) {
    this.#context = context
    this.#acting = acting
  }

  async undo(id: string, { dryRun, skipConflicts, withEffects }: UndoOptions = {}): Promise<unknown> {
    const query = withQuery({
      dry_run: dryRun,
      skip_conflicts: skipConflicts,
      with_effects: withEffects,
    })
    return (await callServer(this.#context, this.#acting, undoOperation, () => ({ id, ...query }))).value
  }
}

function callServer(
  context: Context,
  acting: Acting,
  endpoint: ServerEndpoint,
  request: () => InnerRequest,
): Promise<CallResult> {
  return answerOf(acting, () => {
    refuseWrites(acting, endpoint)
    return endpoint.run(context, new InnerCall(acting, endpoint.takes, request()))
  })
}

function refuseWrites({ readsOnly }: Acting, { method }: Pick<ServerEndpoint, 'method'>): void {
  if (readsOnly && method !== 'GET') throw new NotInPlan()
}

/** Formats options as in a URL: `true` is 1; `false` and `undefined` are left out. */
function withQuery(options: object, equal: Record<string, string> = {}): Pick<InnerRequest, 'query'> {
  const given = Object.entries(options)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name, value]) => [name, value === true ? '1' : String(value)])
  const query = { ...equal, ...Object.fromEntries(given) }
  return Object.keys(query).length === 0 ? {} : { query }
}

/** Writes all parts or none, as one operation. */
async function runBatch(context: Context, acting: Acting, parts: unknown): Promise<BatchResult> {
  const { value, operation } = await callServer(context, acting, writeBatch, () => ({
    body: (Array.isArray(parts) ? parts : [parts]).map((one) => sentPart(asSent(one))),
  }))
  const { results } = value as { results: { body: BatchResult['results'][number] }[] }
  return { operation, results: results.map(({ body }) => body) }
}

const KINDS = { create: 'POST', update: 'PATCH', delete: 'DELETE', restore: 'DELETE' } as const

/** Converts `{ update: 'rooms', id: 5, body }` for the batch endpoint, which reports all errors. */
function sentPart(part: unknown): unknown {
  if (!isRecord(part)) return part
  const kind = (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((one) => Object.hasOwn(part, one))
  if (kind === undefined) return part
  const { [kind]: entity, id, body, version, ...rest } = part
  const place = kind === 'create' ? `/api/${entity}/` : `/api/${entity}/${id}/`
  return {
    ...rest,
    method: KINDS[kind],
    path: kind === 'restore' ? `${place}?restore=1` : place,
    ...(body !== undefined && { body }),
    ...(version !== undefined && { if_match: `"${version}"` }),
  }
}
