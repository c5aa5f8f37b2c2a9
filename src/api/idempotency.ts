import { createHash, createHmac } from 'node:crypto'
import { budget } from '../budget.ts'
import { Failure, invalidAt, TooLate } from '../errors.ts'
import { type Actor, actorName, type Caller, isAgent, system, type User } from '../plan/viewer/actor.ts'
import { type Act, read, write } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import { limitedKey, withinLimits } from './account/key-limits.ts'
import { type Answer, type Context, type KeptAnswer, TRIES } from './context.ts'
import { annotated, type Note } from './notes.ts'
import { perform, transact } from './perform.ts'
import type { Query } from './query.ts'

const HEADER = 'Idempotency-Key'
/** How long an answer is kept for repeated requests. */
const KEPT_MS = 24 * 60 * 60 * 1000

/** A request that may be repeated if it has an `Idempotency-Key`. */
export interface IdempotentRequest {
  readonly caller: Caller
  /** The address of the client. It tells callers apart who are not signed in. */
  readonly address: string
  /** `Idempotency-Key` */
  readonly key: string | null
  /** The method and the path, normalised. */
  readonly target: string
  readonly body: unknown
  /** The run and reason of the write. */
  readonly note: Note | null
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal
  readonly query?: Pick<Query, 'planning'>
  /** Whether `planned.ts` handles previews and plans of this request. */
  readonly planned?: boolean
}

/** Makes a request of the command line. */
export function fromSystem(body: unknown): IdempotentRequest {
  const caller = { actor: system, session: undefined, epoch: undefined, expired: false }
  const { signal } = new AbortController()
  return { caller, body, address: '', key: null, note: null, target: '', signal }
}

/** Runs an act. With an `Idempotency-Key`: once, in one transaction. Without: each write is its own transaction. */
export function performOnce(
  context: Context,
  request: IdempotentRequest,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  refuseUnplanned(request)
  // The limits of a key are checked in the transaction that makes the changes.
  if (request.key !== null || limitedKey(request.caller.actor) !== undefined)
    return transactOnce(context, request, make)
  return perform(context.store, annotated(context, request.note, make()), request.signal)
}

/** The same, but always in one transaction. */
export function transactOnce(
  context: Context,
  request: IdempotentRequest,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  refuseUnplanned(request)
  const key = limitedKey(request.caller.actor)
  const act = key === undefined ? make : () => withinLimits(context, key, make())
  return request.key === null
    ? transact(context.store, () => annotated(context, request.note, act()), request.signal)
    : withKey(context, request, request.key, act)
}

/** A request for a preview must write nothing, and agents must write nothing without a plan. */
function refuseUnplanned({ planned, query, caller }: IdempotentRequest): void {
  if (planned) return
  for (const name of query?.planning.keys() ?? []) throw invalidAt(name, 'is not possible here')
  if (isAgent(caller.actor)) throw new Failure('forbidden')
}

/**
 * Returns the kept answer of a repeated request. For work that runs before the transaction, which asks again itself.
 */
export async function replayOf(context: Context, request: IdempotentRequest): Promise<Answer | undefined> {
  if (request.key === null) return undefined
  const params = await perform(context.store, knownBy(context, request, request.key))
  return perform(context.store, findKeptAnswer(context, params))
}

/**
 * Runs a request once, however often it is sent. Claiming the key, the act and storing its answer are one transaction,
 * so neither a crash nor a second server can come between. A failure frees the key.
 */
function withKey(
  context: Context,
  request: IdempotentRequest,
  key: string,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  refuseMalformedKey(key)
  return transact(
    context.store,
    () => doOnce(context, knownBy(context, request, key), () => annotated(context, request.note, make())),
    request.signal,
  )
}

export function refuseMalformedKey(key: string, name = HEADER): void {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw invalidAt(name, 'must have 1 to 255 visible ASCII characters')
}

/**
 * Runs code once whose writes are not in one transaction with its answer. The key is claimed before. Until the code
 * ends, even after its time is up, the same request is `busy`. A failure frees the key. If the server ends meanwhile,
 * the key is freed later: the code must have had all of its time.
 */
export async function runOnce(
  context: Context,
  request: IdempotentRequest,
  run: () => Promise<Answer>,
): Promise<Answer> {
  const { key } = request
  if (key === null) return run()
  refuseMalformedKey(key)
  const stalled = context.serviceTime.text(-2 * budget.routeMs)
  const found = await perform(context.store, knownBy(context, request, key))
  const params = { ...found, $stalled: stalled }
  const { begin, finish, release } = context.answers
  const { done } = await context.store.write(begin, params)
  if (!done) {
    const known = await perform(context.store, findKeptAnswer(context, params))
    if (known === undefined) throw new Failure('busy')
    return known
  }
  const keep = async (answer: Answer) => {
    const kept = (await isKept(context, request, answer)) ? answer : withoutBody(answer)
    return context.store.write(finish, { ...params, ...recordOf({ ...kept, shows: [] }) })
  }
  const free = () => context.store.write(release, params)
  const answer = await run().catch(async (error) => {
    // The code still runs: a repeated request gets its outcome.
    if (error instanceof TooLate) void (error.later as Promise<Answer>).then(keep, free).catch(() => {})
    else await free()
    throw error
  })
  await keep(answer)
  return answer
}

/** Anybody may call an open route, so the bytes kept for each caller are limited. */
async function isKept({ rates }: Context, request: IdempotentRequest, { body }: Answer): Promise<boolean> {
  const bytes = Buffer.byteLength(body ?? '')
  return (
    bytes <= budget.keptBytes &&
    (bytes === 0 || rates.keep(whoseOf(request.caller.actor, request.address), bytes))
  )
}

function withoutBody<A extends Answer>({ body: _, ...rest }: A): Omit<A, 'body'> {
  return rest
}

/** A large answer is kept only for a write, whose journal is as large. Other large answers lose their body. */
function keptPart(answer: KeptAnswer): KeptAnswer {
  const isLarge = Buffer.byteLength(answer.body ?? '') > budget.keptBytes
  return isLarge && answer.headers?.['Takeback-Operation'] === undefined ? withoutBody(answer) : answer
}

function* doOnce(context: Context, known: Act<Params>, make: () => Act<KeptAnswer>): Act<Answer> {
  const { claim, keep } = context.answers
  const params = yield* known
  for (let tries = 0; tries < TRIES; tries++) {
    if ((yield* write(claim, params)).done) {
      const answer = yield* make()
      yield* write(keep(answer.shows), { ...params, ...recordOf(keptPart(answer)) })
      return answer
    }
    const known = yield* findKeptAnswer(context, params)
    if (known !== undefined) return known
  }
  throw new Failure('busy')
}

/** Returns the first answer; undefined if it was just erased. */
function* findKeptAnswer({ answers }: Context, params: Params): Act<Answer | undefined> {
  const [row] = yield* read(answers.find, params)
  if (row === undefined) return undefined
  const [request, status, headers, body] = row
  if (request !== params.$request) throw invalidAt(HEADER, 'was already used for another request')
  // The first request is still running.
  if (Number(status) === 0) throw new Failure('busy')
  return {
    status: Number(status),
    headers: { ...(JSON.parse(String(headers)) as Record<string, string>), 'Idempotent-Replay': 'true' },
    // The body is missing if it was too large to keep, or if something in it was purged since.
    ...(body != null && { body: String(body) }),
  }
}

/** Returns what identifies a request. Uses a former name of the caller's type if an answer was kept under it. */
function* knownBy(context: Context, request: IdempotentRequest, key: string): Act<Params> {
  const now = keptNow(context)
  for (const actor of formerActors(context, request.caller)) {
    const params = { ...answerParams(request, key, actor), ...now }
    if ((yield* read(context.answers.find, params)).length > 0) return params
  }
  return { ...answerParams(request, key), ...now }
}

/** The caller under former names of their types (`was`), which tokens from before a rename have. */
function formerActors({ model }: Context, { actor }: Caller): Actor[] {
  const before = (user: User): User[] => {
    const was = model.entities.get(user.entity)?.was
    return was === undefined ? [] : [{ ...user, entity: was }]
  }
  if (actor.kind === 'user') return before(actor)
  if (actor.kind !== 'impersonation') return []
  const users = [actor.user, ...before(actor.user)]
  const all = [actor.by, ...before(actor.by)].flatMap((by) => users.map((user) => ({ ...actor, by, user })))
  // The first one has the present names.
  return all.slice(1)
}

/** Only hashes are stored. Without the key, not even a weak secret in the request can be guessed from them. */
function answerParams(request: IdempotentRequest, key: string, actor = request.caller.actor): Params {
  const { target, body, address } = request
  const hashed = createHmac('sha256', key)
    .update(`${target}\n${JSON.stringify(body)}`)
    .digest('base64url')
  // Strangers may choose the same key, even at one address: then only an identical request counts as repeated.
  const strangers = actor.kind === 'nobody' ? [hashed] : []
  const whose = JSON.stringify([whoseOf(actor, address), key, ...strangers])
  return { $key: createHash('sha256').update(whose).digest('base64url'), $request: hashed }
}

/** The name of the caller to whom keys and kept bytes belong. */
function whoseOf(actor: Actor, address: string): string {
  return actorName(actor) ?? `nobody at ${address}`
}

/** Uses service time, so that a clock that jumps does not free a key. */
export function keptNow({ serviceTime }: Context): Params {
  return { $now: serviceTime.text(), $expired: serviceTime.text(-KEPT_MS) }
}

function recordOf({ status, headers = {}, body, shows }: KeptAnswer): Params {
  return {
    $status: status,
    $headers: JSON.stringify(headers),
    $body: body ?? null,
    $operation: headers['Takeback-Operation'] ?? null,
    $shown: JSON.stringify(shows),
  }
}
