import { budget } from '../../budget.ts'
import { applyOperators, atSentPlaces, hasOperators } from '../../declare/apply-operators.ts'
import { isRecord } from '../../declare/record.ts'
import type { Values } from '../../declare/values.ts'
import { addError, type Code, type Errors, Failure, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { entityRow } from '../../plan/view/entity-row.ts'
import { type Actor, passesRules, system } from '../../plan/viewer/actor.ts'
import type { RuleResults } from '../../plan/viewer/field-access.ts'
import type { EntityWriteOptions } from '../../plan/write/write.ts'
import { type Act, after, pause, read, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import { sealFormer } from '../account/seal.ts'
import type { Call } from '../call.ts'
import {
  allow,
  allowed,
  type Context,
  callerParams,
  entityAnswer,
  isMatch,
  type KeptAnswer,
  operationOf,
  type Preconditions,
  shownTo,
  TRIES,
} from '../context.ts'
import {
  type AboutEntity,
  type Description,
  entitySuccess,
  hookCodes,
  replayable,
  written,
} from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import {
  addFaults,
  addPasswordErrors,
  bindEmailKey,
  guardedIn,
  hashSecrets,
  refuseFaulty,
  refuseForbidden,
  takenAwayIn,
} from '../faults.ts'
import { parseId } from '../id.ts'
import { replayOf } from '../idempotency.ts'
import { live, refuseUnchangeable } from '../live.ts'
import { writing } from '../parameters.ts'
import type { Query } from '../query.ts'
import { baseOf, refuseChanged } from './base.ts'
import { beforeUpdate, hasHook, hookCallerOf } from './hooks.ts'
import { mergePatch, valueAt, withValueAt } from './merge.ts'
import { emailCodes, needsRecentLogin, refuseNewEmail } from './own-email.ts'
import { performPlanned, transactPlanned } from './planned.ts'
import { provideChange, provideChanged, setsExpressions } from './provide.ts'

/** How often a merge of JSON is retried: it reads before it writes, so concurrent ones get in its way more often. */
const MERGES_MAX = 60

/** `PATCH` merges the keys that were sent, `PUT` replaces them all. */
type UpdateMode = 'partial' | 'replace'

interface SentUpdate {
  readonly id: number
  readonly body: unknown
  readonly mode: UpdateMode
  readonly when: Preconditions
  readonly query: Query
  readonly operation?: string
  /** What a hook sets. The caller's rules do not apply to it. */
  readonly own?: Values | undefined
  /** The body before the hook. */
  readonly sent?: unknown
}

type HeldUpdate = Pick<SentUpdate, 'mode' | 'body' | 'query'>

/** `PATCH /api/<entity>/<id>/` and `PUT /api/<entity>/<id>/` */
export function* update(context: Context, plan: Plan, actor: Actor, sent: SentUpdate): Act<KeptAnswer> {
  allow(plan, 'update', actor)
  if (isHeld(plan, actor, sent)) return yield* changeHeld(context, plan, actor, sent)
  const { fieldRules: rulesStatement } = plan.view(actor)
  if (rulesStatement === undefined || sent.mode === 'partial') {
    const answer = yield* change(context, plan, actor, sent)
    if (answer !== undefined) return answer
    throw new Failure('busy')
  }
  // A PUT replaces the fields that the caller sees, which depend on the Entity. A concurrent change may change them.
  for (let tries = 0; tries < TRIES; tries++) {
    const [seen] = yield* read(rulesStatement, { ...callerParams(actor), $id: sent.id })
    if (seen === undefined) throw new Failure('not_found')
    const ruleResults = seen.map((one) => Number(one) === 1)
    const answer = yield* change(context, plan, actor, { ...sent, ruleResults })
    if (answer !== undefined) return answer
  }
  throw new Failure('busy')
}

/** Whether a PATCH has operators. Fields that the caller never sees have none: a result would reveal their value. */
export function asksRelative({ type, view }: Plan, actor: Actor, body: unknown): boolean {
  return hasOperators(view(actor).shown.fields ?? type.fields, body)
}

/** Whether the present values decide what is written: because of operators, or a base. */
function isHeld(plan: Plan, actor: Actor, { mode, body, query }: HeldUpdate): boolean {
  return mode === 'partial' && (query.has('base') || asksRelative(plan, actor, body))
}

/** Changes an Entity once it is locked, so that nobody else can change it. To be run in one transaction. */
function* changeHeld(context: Context, plan: Plan, actor: Actor, sent: SentUpdate): Act<KeptAnswer> {
  const { shown, writes } = plan.view(actor)
  const { id, when } = sent
  if (writes.hold.length > 0) yield* write(writes.hold, { $id: id })
  const present = yield* live(plan, actor, id)
  if (!isMatch(when.ifMatch, present.version)) throw new Failure('stale')
  const errors: Errors = new Map()
  const base = baseOf(sent.query, errors)
  if (base !== undefined)
    yield* refuseChanged(context, plan, actor, { base, body: sent.sent ?? sent.body, present })
  const places = new Map<string, string>()
  const fields = shown.fields ?? plan.type.fields
  const body = applyOperators(fields, sent.body as Values, JSON.parse(present.json), { errors, places })
  try {
    const ifMatch = `|${present.version}|`
    const answer = yield* change(context, plan, actor, { ...sent, body, when: { ifMatch }, errors })
    if (answer !== undefined) return answer
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'invalid_data' || error.errors === undefined)
      throw error
    throw invalid(atSentPlaces(error.errors, places))
  }
  throw new Failure('busy')
}

/** `ruleResults` says which fields the caller saw in the Entity, if not always all. */
interface SeenUpdate extends SentUpdate {
  readonly ruleResults?: RuleResults
  /** Errors of the body that are already known. */
  readonly errors?: Errors
}

/** Undefined if the write was refused again and again, for reasons that went away each time. */
function* change(context: Context, plan: Plan, actor: Actor, sent: SeenUpdate): Act<KeptAnswer | undefined> {
  const { id, mode, when, query, ruleResults, errors = new Map() } = sent
  query.take(errors)
  const params: CheckedChange['params'] = { ...operationOf(actor, when, sent.operation), $id: id }
  const view = plan.view(actor)
  const checked = view.check(mode, sent.body, errors, ruleResults)
  const values = sent.own === undefined ? checked : withOwn(plan, checked, sent.own, errors)
  const guarded = guardedBy(view.guarded.update, checked, sent)
  const options = { partial: mode === 'partial', guarded, ruleResults }
  const isEmpty = Object.keys(values).length === 0
  if (!isEmpty) provideChange(plan, actor, { values, params, errors })
  plan.bind(values, params)
  if (plan.login !== undefined && params.password !== undefined)
    yield* checkPassword(plan, actor, params, errors)
  bindEmailKey(plan, params)
  if (errors.size > 0) yield* refuseUnchangeable(plan, actor, id)
  yield* refuseFaulty(plan, actor, { action: 'update', params, self: id, options, errors })
  if (isEmpty) return yield* unchanged(plan, actor, id, when)
  if (params.email !== undefined && needsRecentLogin(plan, actor, id))
    yield* refuseNewEmail(plan, actor, params, options)
  if (plan.secrets.length > 0) yield* hashSecrets(plan, params)
  return yield* writeChange(context, plan, actor, { id, params, values, when, options })
}

/** Returns the guarded dot paths that the caller sets, also if a hook has changed or removed the value. */
function guardedBy(guardable: readonly string[], checked: Values, { own, sent }: SeenUpdate): string[] {
  const bodies = own === undefined ? [checked] : [checked, sent]
  const all = bodies.flatMap((body) => [...guardedIn(guardable, body), ...takenAwayIn(guardable, body)])
  return [...new Set(all)]
}

/** Adds what a hook sets. Its keys need not be in the body. */
function withOwn(plan: Plan, checked: Values, own: Values, errors: Errors): Values {
  for (const path of errors.keys()) if (Object.hasOwn(own, path.split('.')[0] ?? '')) errors.delete(path)
  return { ...checked, ...plan.view(system).check('partial', own, errors) }
}

/** A checked change. */
interface CheckedChange {
  readonly id: number
  readonly params: Params & { $operation: string }
  readonly values: Values
  readonly when: Preconditions
  readonly options: EntityWriteOptions
}

function* writeChange(
  context: Context,
  plan: Plan,
  actor: Actor,
  change: CheckedChange,
): Act<KeptAnswer | undefined> {
  const { params, values, when, options } = change
  const view = plan.view(actor)
  const documents = options.partial ? plan.documents.filter((path) => isRecord(valueAt(values, path))) : []
  // A write that reads first must be retried more often, if many run at once.
  const sets = setsExpressions(plan, actor)
  const most = documents.length > 0 || sets || plan.seals !== undefined ? MERGES_MAX : TRIES
  for (let tries = 0; tries < most; tries++) {
    if (tries > 0) yield* pause(Math.random() * tries)
    params.$versions = when.ifMatch
    if (documents.length > 0) yield* mergeDocuments(plan, actor, documents, change)
    if (sets) yield* setExpressions(plan, actor, change)
    const seals = yield* sealFormer(context, plan, params)
    const steps = view.writes.update(params, options)
    const outcome = yield* write(seals.length === 0 ? steps : [...seals, ...steps], params)
    if (outcome.done) {
      if (plan.login !== undefined) yield* after(() => context.identities.forget())
      const shown = yield* shownTo(view, actor, entityRow(outcome.rows[0]))
      return entityAnswer(200, plan, shown, params.$operation)
    }
    yield* refuseWrite(plan, actor, change)
    if (options.ruleResults !== undefined) break
  }
  return undefined
}

/** Sets expressions. Only callers whom the rule allows learn about their errors. */
function* setExpressions(plan: Plan, actor: Actor, { params, when, options }: CheckedChange): Act<void> {
  const errors = yield* provideChanged(plan, actor, { params, when, partial: options.partial })
  if (errors.size === 0) return
  yield* refuseUnchangeable(plan, actor, Number(params.$id))
  yield* refuseForbidden(plan, actor, { action: 'update', params, options, errors })
  throw invalid(errors)
}

/**
 * Merges JSON documents. The old document must be read first, and must not change before the write. Only the documents
 * are bound again: secrets of the same body are already hashed.
 */
function* mergeDocuments(
  plan: Plan,
  actor: Actor,
  documents: readonly string[],
  { params, values, when }: CheckedChange,
): Act<void> {
  const seen = yield* live(plan, actor, Number(params.$id))
  if (!isMatch(when.ifMatch, seen.version)) throw new Failure('stale')
  const [row] = yield* read(plan.view(system).lists.read, params)
  const whole = entityRow(row)
  if (whole === undefined) throw new Failure('not_found')
  const current: unknown = JSON.parse(whole.json)
  const merged = documents.reduce(
    (all, path) => withValueAt(all, path, mergePatch(valueAt(current, path), valueAt(values, path))),
    {},
  )
  refuseLongDocuments(merged, documents)
  plan.bind(merged as Values, params)
  params.$versions = `|${whole.version}|`
}

/** Many requests may build a document, but the result must not be larger than one request could send. */
function refuseLongDocuments(merged: object, documents: readonly string[]): void {
  const errors: Errors = new Map()
  for (const path of documents)
    if (Buffer.byteLength(JSON.stringify(valueAt(merged, path)) ?? '') > budget.bodyBytes)
      addError(errors, path, `would have more than ${budget.bodyBytes} bytes`)
  if (errors.size > 0) throw invalid(errors)
}

/** Only admins set passwords here: a stolen token must not be enough to take over an account for good. */
function* checkPassword(plan: Plan, actor: Actor, params: Params, errors: Errors): Act<void> {
  if (!passesRules(actor)) return addError(errors, 'password', 'can only be changed with /api/auth/password')
  const [row] = params.email === undefined ? yield* read(plan.view(system).lists.read, params) : []
  const whole = entityRow(row)
  const { email } = whole === undefined ? params : (JSON.parse(whole.json) as { email: string })
  addPasswordErrors(plan, { password: params.password, email }, errors)
}

/** An empty body writes nothing. */
function* unchanged(plan: Plan, actor: Actor, id: number, when: Preconditions): Act<KeptAnswer> {
  const entity = yield* live(plan, actor, id)
  if (!isMatch(when.ifMatch, entity.version)) throw new Failure('stale')
  return entityAnswer(200, plan, allowed(plan, 'update', actor, entity))
}

/** Throws the reason why the write was refused. Returns if that reason is gone. */
function* refuseWrite(plan: Plan, actor: Actor, { id, params, when, options }: CheckedChange): Act<void> {
  const { version, json } = yield* live(plan, actor, id)
  if (!isMatch(when.ifMatch, version)) throw new Failure('stale')
  const errors: Errors = new Map()
  yield* refuseForbidden(plan, actor, { action: 'update', params, options, errors })
  const current: unknown = JSON.parse(json)
  // An object that this write creates must have its required fields.
  for (const { path, within, column } of plan.view(actor).writes.needed)
    if (params[within] === 1 && !Object.hasOwn(params, column) && !isRecord(valueAt(current, within)))
      addError(errors, path, 'is required')
  yield* addFaults(plan, actor, { params, self: id, options, errors })
  if (errors.size > 0) throw invalid(errors)
}

/** Reads `If-Match: "3-k2f9", "4"` or `*`. Only versions count. Weak tags never match (RFC 9110, section 13.1.1). */
export function parseIfMatch(header: string | null): string | null {
  if (header === null || header.trim() === '*') return null
  const tags = header
    .split(',')
    .map((tag) => /^"(\d{1,16})(?:-[0-9a-z]{1,13})?"$/.exec(tag.trim())?.[1] ?? '')
  return `|${tags.join('|')}|`
}

const changing = {
  path: '/api/{entity}/{id}/',
  parameters: ['id', 'If-Match', ...writing],
  plans: 'apart',
  body: 'object',
  rule: { all: ['update'] },
} as const

function runWith(mode: UpdateMode) {
  return async (context: Context, plan: Plan, call: Call) => {
    const { caller, when, query } = call
    const id = parseId(call.id)
    const known = hasHook(plan, 'update') ? await replayOf(context, call) : undefined
    if (known !== undefined) return known
    const { body, own } = hasHook(plan, 'update')
      ? await beforeUpdate(context, plan, hookCallerOf(call), { id, body: call.body, when })
      : { body: call.body, own: undefined }
    const sent = { id, body, mode, when, query, own, sent: call.body }
    const make = () => update(context, plan, caller.actor, sent)
    return isHeld(plan, caller.actor, sent)
      ? transactPlanned(context, call, make)
      : performPlanned(context, call, make)
  }
}

/** PATCH and PUT differ only in what happens to absent keys. */
function describeChange(
  about: AboutEntity,
  {
    summary,
    does,
    body,
    codes = [],
  }: { summary: string; does: string; body: NonNullable<Description['body']>; codes?: readonly Code[] },
): Description {
  const password =
    about.type.login === undefined
      ? ''
      : ' Only admins may set a password here. Others change their own with `/api/auth/password`.'
  return {
    summary,
    description: `${does}${password} ${about.access('update')}`,
    body,
    answers: [replayable(written(entitySuccess(about, 200, 'The changed Entity.')))],
    codes: [
      ...about.refusals('update', false),
      ...hookCodes(about, 'update'),
      ...emailCodes(about),
      'not_found',
      'busy',
      'stale',
      'disk_full',
      ...codes,
    ],
  }
}

export const patchEntity = entityEndpoint({
  ...changing,
  parameters: [...changing.parameters, 'base'],
  name: 'patch',
  method: 'PATCH',
  describe: (about) =>
    describeChange(about, {
      summary: `Change ${about.one}`,
      does: 'Merges the keys that are sent (RFC 7396): absent keys stay as they are, `null` removes a value. `{"$add": -1}` changes a number relative to its value at the time of the write; `{"$add": […], "$remove": […]}` does the same for a list. With `base=3`, the change is merged unless one of the same fields was changed since version 3.',
      // A PATCH sends only some keys, so its example has one.
      body: {
        schema: about.schema('patch'),
        example: Object.fromEntries(Object.entries(about.sample(about.type)).slice(0, 1)),
      },
      codes: ['changed_meanwhile', 'version_gone'],
    }),
  run: runWith('partial'),
})

export const replaceEntity = entityEndpoint({
  ...changing,
  name: 'replace',
  method: 'PUT',
  describe(about) {
    const { password: _, ...rest } = about.sample(about.type)
    return describeChange(about, {
      summary: `Replace ${about.one}`,
      does: 'Absent keys become their default or `null`. Absent secrets stay as they are.',
      body: {
        schema: about.schema('replace'),
        example: about.type.login === undefined ? about.sample(about.type) : rest,
      },
    })
  },
  run: runWith('replace'),
})
