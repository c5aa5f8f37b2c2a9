import type { FirstAdminOffers } from '../account/first-admin-offer.ts'
import type { Invitations } from '../account/invitations.ts'
import type { AccessKeys } from '../account/keys.ts'
import type { Links } from '../account/links.ts'
import type { Passkeys } from '../account/passkeys.ts'
import type { Preferences } from '../account/preferences.ts'
import type { Handoffs } from '../account/providers/handoffs.ts'
import type { LinkedIdentities } from '../account/providers/linked.ts'
import type { OpenIdProvider } from '../account/providers/openid.ts'
import type { Seals } from '../account/seals.ts'
import type { SecondFactors } from '../account/second-factors.ts'
import type { Sessions } from '../account/sessions.ts'
import type { TemporaryPasswords } from '../account/temporary.ts'
import type { Throttle } from '../account/throttle.ts'
import type { Tokens } from '../account/tokens.ts'
import type { TriedPasswords } from '../account/tried-passwords.ts'
import type { VerifiedAddresses } from '../account/verified.ts'
import type { Rates } from '../budget.ts'
import type { ProviderConfig } from '../config.ts'
import { no } from '../declare/cel/expression.ts'
import type { Action } from '../declare/define.ts'
import type { Model } from '../declare/model.ts'
import { namedRulesIn } from '../declare/named-rules.ts'
import { Failure } from '../errors.ts'
import type { Cursors } from '../journal/cursors.ts'
import type { Feed } from '../journal/feed.ts'
import type { UpcasterOf } from '../journal/upcast.ts'
import type { EventReader } from '../live/event-reader.ts'
import type { Hub } from '../live/hub.ts'
import type { Positions } from '../live/positions.ts'
import type { Mailer, MailSettings } from '../mail/mailer.ts'
import type { Observer } from '../observe/observer.ts'
import type { RequestFigures } from '../observe/request-figures.ts'
import type { Plan, Plans } from '../plan/compile.ts'
import { ME, NOW } from '../plan/condition/row-source.ts'
import type { AmendPlan } from '../plan/past/amend.ts'
import type { AnswersPlan } from '../plan/past/answers.ts'
import type { ExtentsPlan } from '../plan/past/extents.ts'
import type { NotesPlan } from '../plan/past/notes.ts'
import type { OperationsPlan } from '../plan/past/operations.ts'
import type { PurgesPlan } from '../plan/past/purge.ts'
import type { Legacy } from '../plan/tables/graph.ts'
import { type EntityRow, type EntityState, entityState } from '../plan/view/entity-row.ts'
import type { View } from '../plan/view/view.ts'
import { type Actor, actorParams, userOf } from '../plan/viewer/actor.ts'
import { type Act, read } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import type { ServiceTime } from '../store/service-time.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Runner } from '../work/runner.ts'
import type { Waker } from '../work/waker.ts'
import type { Identities } from './account/identify.ts'
import type { Health } from './health.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import type { HookRun } from './write/hook-run.ts'

/** The server once the database is open. Every part is made from this. */
export interface Opened {
  readonly model: Model
  readonly plans: Plans
  readonly store: Store
  readonly observer: Observer
  /** Runs background work. `enqueue` is a step that adds a task. */
  readonly work: Runner
  /** Wakes the followers of the journal. */
  readonly waker: Waker
  /** A clock for ages of days. */
  readonly serviceTime: ServiceTime
  /** What the database has from former declarations. */
  readonly legacy: Legacy
  readonly settings: ServerSettings
}

/** The settings that the parts need. */
export interface ServerSettings {
  /** The version of Takeback. */
  readonly version: string
  /** The secrets that sign tokens, the present one first. */
  readonly secrets: readonly [string, ...string[]]
  readonly rates: Rates
  /** Whether refusals name the rule that denied the request. For development only. */
  readonly explainDenials: boolean
  readonly mail: LinkSettings & MailSettings
  readonly providers: readonly ProviderConfig[]
  /** The origins of our own pages: logins through providers may return there, and passkeys work there. */
  readonly returnOrigins: ReadonlySet<string>
}

/** The addresses of links in mails. */
interface LinkSettings {
  /** The public address of this server. */
  readonly url: string
  /** The address of the app's own pages. */
  readonly appUrl: string | undefined
  /** The address where people sign in: in the app, or in the console. */
  readonly signIn: string | undefined
}

/** Accounts: who calls, and how they prove it. */
export interface AccountPiece {
  readonly tokens: Tokens
  readonly identities: Identities
  readonly throttle: Throttle
  readonly sessions: Sessions
  readonly factors: SecondFactors
  readonly passkeys: Passkeys
  readonly temporary: TemporaryPasswords
  readonly firstAdmin: FirstAdminOffers
  readonly preferences: Preferences
  readonly verified: VerifiedAddresses
  readonly tried: TriedPasswords
  readonly seals: Seals
  readonly keys: AccessKeys
  /** Returns the digest that names an account in the log. */
  digestOf(account: string): string
}

/** The journal, and everything derived from it. */
export interface PastPiece {
  readonly operations: OperationsPlan
  readonly amend: AmendPlan
  readonly answers: AnswersPlan
  readonly purges: PurgesPlan
  readonly notes: NotesPlan
  readonly extents: ExtentsPlan
  readonly feed: Feed
  readonly cursors: Cursors
  /** Converts positions in the journal to and from the form that callers have. */
  readonly positions: Positions
  /** Reads what callers see of changes. */
  readonly eventReader: EventReader
  /** Delivers changes to those who listen. */
  readonly hub: Hub
  /** Converts old versions of a type to the present form. */
  readonly upcasterOf: UpcasterOf
}

/** The health of the server, and its rate limits. */
export interface ServicePiece {
  readonly health: Health
  readonly rates: RateLimits
  readonly requests: RequestFigures
  /** Whether refusals name the rule that denied the request. For development only. */
  readonly explainsDenials: boolean
}

/** Webhooks. */
export interface WebhookPiece {
  readonly webhooks: Webhooks
}

/** Mails to users. */
export interface MailPiece {
  readonly mailer: Pick<Mailer, 'send'>
  readonly invitations: Invitations
  readonly links: Links
  /** Steps that end whatever was added to an account since its e-mail was changed. */
  readonly reclaim: readonly Step[]
}

/** Providers through which users log in. */
export interface ProviderPiece {
  /** Providers by name. */
  readonly providers: ReadonlyMap<string, OpenIdProvider>
  readonly handoffs: Handoffs
  readonly linked: LinkedIdentities
}

/** The user's code. */
export interface CodePiece {
  /** Runs the hook of a type, and returns the body to write. */
  runHook(context: Context, run: HookRun): Promise<object>
}

/** What every endpoint works with: the opened server, and a piece from each part. */
export interface Context
  extends Opened,
    AccountPiece,
    PastPiece,
    ServicePiece,
    WebhookPiece,
    MailPiece,
    ProviderPiece,
    CodePiece {
  /** Returns the OpenAPI document of everything that is served. */
  document(): Promise<string>
}

/** The answer of most endpoints: a status and a text, which is JSON unless `type` says otherwise. */
export interface Answer {
  readonly status: number
  readonly body?: string
  /** The media type of the body. Default: JSON. */
  readonly type?: string
  readonly headers?: Record<string, string>
  /** The Entities in the body, so that a purge finds kept answers. */
  readonly shows?: readonly ShownEntity[]
}

/** The same, but the body may be bytes or a stream. */
export interface AnyAnswer extends Omit<Answer, 'body'> {
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
}

export type ShownEntity = readonly [entity: string, id: number]

/** An answer that can be kept for an `Idempotency-Key`. */
export interface KeptAnswer extends Answer {
  readonly shows: readonly ShownEntity[]
}

export interface Preconditions {
  /** The versions of `If-Match`, as `isVersion` takes them; `null` without that header. */
  readonly ifMatch: string | null
}

/** The parameters with which rules refer to the caller. */
export function callerParams(actor: Actor): Params {
  return { [ME]: userOf(actor)?.id ?? null, [NOW]: instant() }
}

let instantAt = 0
let instantText = ''

/** Returns the current time as text. It is made once per millisecond, since thousands of requests share it. */
function instant(): string {
  const now = Date.now()
  if (now !== instantAt) {
    instantAt = now
    instantText = new Date(now).toISOString()
  }
  return instantText
}

/** The parameters of a new operation, or of a part of one. */
export function operationOf(
  actor: Actor,
  { ifMatch }: Preconditions = { ifMatch: null },
  operation: string = Bun.randomUUIDv7(),
): Params & { $operation: string } {
  const { $actor, $actor_id, $via, $cause } = actorParams(actor)
  return {
    [ME]: userOf(actor)?.id ?? null,
    [NOW]: instant(),
    $operation: operation,
    $actor,
    $actor_id,
    $via,
    $cause,
    $versions: ifMatch,
  }
}

/**
 * Throws if the rule never allows the actor to act: 404 if they can never read it, 403 if they can read but not change
 * it, 401 if nobody is signed in. Rules that depend on the Entity are checked by the statements.
 */
export function allow(plan: Plan, action: Action, actor: Actor, whole = false): void {
  const { may } = plan.view(actor)
  if (may[action] === no) throw refusal(plan, action, actor, whole || may.read !== no)
}

/** Reads an Entity, live or deleted, by `$id`. `params` has what rules know about the caller. */
export function* stateOf(view: View, params: Params): Act<EntityState | undefined> {
  const [row] = yield* read(view.state, params)
  return entityState(row)
}

/** Returns the Entity if the rule allows the action, otherwise throws. */
export function allowed(
  plan: Plan,
  action: Action,
  actor: Actor,
  state: EntityState | undefined,
): EntityState {
  if (state === undefined) throw new Failure('not_found')
  if (!state.may('read')) throw refusal(plan, 'read', actor, false)
  if (!state.may(action)) throw refusal(plan, action, actor, true)
  return state
}

/** The failure of a refused action. `seen`: whether the caller may know that the Entity exists. */
export function refusal(plan: Plan, action: Action, actor: Actor, seen: boolean): Failure {
  const denied = denialOf(plan, seen ? action : 'read')
  if (actor.kind === 'nobody' && (seen || plan.view(actor).may.read === no)) return signInFirst(denied)
  return new Failure(seen ? 'forbidden' : 'not_found', { denied })
}

export function denialOf({ type }: Plan, action: Action): string {
  const rule = type.access[action]
  if (typeof rule !== 'string')
    return `${type.name}.access.${action}: ${rule?.rule ?? 'no rule, so admins only'}`
  const used = namedRulesIn(rule, type).map(({ name, text }) => `${name}: ${text}`)
  return `${type.name}.access.${action}: ${rule}${used.length === 0 ? '' : ` (${used.join('; ')})`}`
}

/** Returns the Entity as the writer may see it: the written row, unless parts of it are hidden from them. */
export function* shownTo(
  view: View,
  actor: Actor,
  written: EntityRow | undefined,
): Act<EntityRow | undefined> {
  if (!view.hides || written === undefined) return written
  return yield* stateOf(view, { ...callerParams(actor), $id: written.id })
}

/** The failure for a caller who must sign in. */
export function signInFirst(denied?: string): Failure {
  return new Failure('unauthenticated', {
    headers: { 'WWW-Authenticate': 'Bearer' },
    ...(denied !== undefined && { denied }),
  })
}

/**
 * The ETag: the version and a hash of the answer. What a caller sees of one version depends on the rules, the caller
 * and other Entities. `If-Match` compares only the version.
 */
function tagOf(version: number, body: string): string {
  return `"${version}-${Bun.hash.rapidhash(body).toString(36)}"`
}

/** Answers with an Entity. Throws if there is none. */
export function entityAnswer(
  status: number,
  { type }: Plan,
  entity: EntityRow | undefined,
  operation?: string,
): KeptAnswer {
  if (entity === undefined) throw new Failure('not_found')
  const { id, version, json: body } = entity
  const headers: Record<string, string> = { ETag: tagOf(version, body) }
  if (operation !== undefined) headers['Takeback-Operation'] = operation
  if (status === 201) headers.Location = `/api/${type.name}/${id}/`
  return { status, body, headers, shows: [[type.name, id]] }
}

/** How often a write is tried if the reason for its refusal is gone each time. */
export const TRIES = 20

/** Whether `If-Match` allows a version. */
export function isMatch(ifMatch: string | null, version: unknown): boolean {
  return ifMatch === null || ifMatch.includes(`|${version}|`)
}
