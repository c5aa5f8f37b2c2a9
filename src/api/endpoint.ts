import type { Action } from '../declare/define.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import type { EntityType, Model } from '../declare/model.ts'
import { Failure, invalidAt } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { type Actor, isAgent, isDelegate, passesRules } from '../plan/viewer/actor.ts'
import type { Call } from './call.ts'
import { type Answer, type AnyAnswer, type Context, signInFirst } from './context.ts'
import { type AboutEntity, type AboutServer, type Description, replayable } from './description.ts'
import { refuseMalformedKey, runOnce } from './idempotency.ts'
import { type ParameterName, type QueryName, queryNamesOf } from './parameters.ts'

/**
 * One call of the API, described once: routes, allowed methods, the refusal of unknown parameters, the OpenAPI document
 * and the reference page are derived from it. `endpoints.ts` lists them all.
 */
interface Described<Name extends ParameterName, About> {
  /** The `operationId`. For an endpoint of an Entity type, the name of the type is appended. */
  readonly name: string
  readonly method: Method
  /** The path as in the document: `/api/{entity}/{id}/history/`. It is served with and without the last `/`. */
  readonly path: string
  /** The query parameters. All others are refused. */
  readonly parameters: readonly Name[]
  /** The kind of body. Without it, no body is accepted. */
  readonly body?: BodyKind
  /** How many bytes a body of the kind `bytes` may have. */
  readonly maxBytes?: number
  /** The types of its answers, the preferred one first. Default: JSON. */
  readonly produces?: readonly string[]
  /** Whether it is exempt from rate limits, for monitoring. */
  readonly unlimited?: boolean
  /** Whether it counts as a write for the rate limits, though it is a GET or only reads. */
  readonly writes?: boolean
  /** Whether accounts with an expired password may call it. */
  readonly expired?: boolean
  /** Whether accounts that must first set up a second factor may call it. */
  readonly withoutFactor?: boolean
  /**
   * For a write that can be shown before it is done, with `dry_run`, `plan` and `cursor`: whether these are kept
   * `apart` from its other parameters, or it reads them `itself`. Keys of agents can make no other writes.
   */
  readonly plans?: 'apart' | 'itself'
  /** Whether it only reads, although its method is not GET. */
  readonly reads?: boolean
  /**
   * What an `Idempotency-Key` does to a write that does not handle it itself (and so does not list it as a parameter).
   * `kept`: the answer is kept for the key, so the write runs once. `token`: the answer is a new token each time, so the
   * key is ignored. `secret`: the answer must not be stored, so the key is refused.
   */
  readonly answer?: 'kept' | 'token' | 'secret'
  /** Describes the endpoint. Called only when somebody reads the document or the page. */
  describe(about: About): Description
  /** Takeback's own schemas that the description refers to. */
  schemas?(model: Model): Readonly<Record<string, JsonSchema>>
}

/** `object`, or `any` for an object or a list; `optional`: an object or nothing; `bytes`: anything, as a stream. */
export type BodyKind = 'object' | 'any' | 'optional' | 'bytes'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An endpoint that belongs to no Entity type. */
interface ServerEndpointOf<Name extends ParameterName> extends Described<Name, AboutServer> {
  /** The tag in the document and on the page. */
  readonly tag: string
  /** Who may call it. Checked before it runs. */
  readonly access: 'everyone' | 'signed-in' | 'admins'
  /**
   * Whether it concerns how a user logs in (passwords, e-mails, keys, passkeys, second factors, sessions), or what only
   * that user may see (preferences). Then only users who have logged in themselves may call it: keys, and admins who
   * act as somebody, are refused.
   */
  readonly ownLogin?: boolean
  run(context: Context, call: Call<QueryName<Name>>): AnyAnswer | Promise<AnyAnswer>
}

/** An endpoint that every Entity type has. */
interface EntityEndpointOf<Name extends ParameterName> extends Described<Name, AboutEntity> {
  /** The rules that must allow it, `all` or `any` of them. Checked when it runs, since they depend on the Entity. */
  readonly rule: { readonly all: readonly Action[] } | { readonly any: readonly Action[] }
  /** Whether it is a sign-up, if the caller is not signed in. */
  signsUp?(plan: Plan): boolean
  /** Whether the document and the page show it for a type. Default: always. */
  shownFor?(type: EntityType): boolean
  run(context: Context, plan: Plan, call: Call<QueryName<Name>>): AnyAnswer | Promise<AnyAnswer>
}

/** Endpoints whose type does not name their parameters, so that they fit into one list. */
interface Defined {
  /** The names of its query parameters. */
  readonly takes: readonly string[]
}
export type ServerEndpoint = Omit<ServerEndpointOf<ParameterName>, 'run'> &
  Defined & { run(context: Context, call: Call): AnyAnswer | Promise<AnyAnswer> }
export type EntityEndpoint = Omit<EntityEndpointOf<ParameterName>, 'run'> &
  Defined & { run(context: Context, plan: Plan, call: Call): AnyAnswer | Promise<AnyAnswer> }

/** All endpoints of an API, in the order in which they are shown. */
export interface Endpoints {
  readonly server: readonly ServerEndpoint[]
  readonly entity: readonly EntityEndpoint[]
}

export function serverEndpoint<const Name extends ParameterName>(
  endpoint: ServerEndpointOf<Name>,
): ServerEndpoint & { readonly takes: readonly QueryName<Name>[] } {
  const takes = queryNamesOf(endpoint.parameters)
  return {
    ...endpoint,
    ...(endpoint.answer === 'kept' && describedWithKey(endpoint)),
    takes,
    run(context, call) {
      admitActor(endpoint, call.caller.actor)
      refuseAgent(endpoint, call.caller.actor)
      refuseBoundKey(endpoint, call.caller.actor)
      if (isWrite(endpoint)) refuseKey(endpoint, call.key)
      if (takes.length === 0) call.query.refuseAll()
      const run = () => endpoint.run(context, call as Call<QueryName<Name>>)
      // Kept answers are always JSON.
      return endpoint.answer === 'kept' ? runOnce(context, call, async () => (await run()) as Answer) : run()
    },
  }
}

/** Adds the parameter `Idempotency-Key`, and what it changes in answers and failures. */
function describedWithKey({ parameters, describe }: Pick<ServerEndpoint, 'parameters' | 'describe'>) {
  return {
    parameters: [...parameters, 'Idempotency-Key' as const],
    describe(about: AboutServer): Description {
      const { answers, codes, ...said } = describe(about)
      return { ...said, answers: answers.map(replayable), codes: [...new Set([...codes, 'busy' as const])] }
    },
  }
}

/** Throws if the key is malformed, or if the answer is a secret, which must not be stored. */
function refuseKey(
  { parameters, answer }: Pick<ServerEndpoint, 'parameters' | 'answer'>,
  key: string | null,
): void {
  if (key === null) return
  refuseMalformedKey(key)
  if (answer !== 'kept' && answer !== 'token' && !parameters.includes('Idempotency-Key'))
    throw invalidAt('Idempotency-Key', 'is not possible here: the answer is a secret, which is not kept')
}

export function entityEndpoint<const Name extends ParameterName>(
  endpoint: EntityEndpointOf<Name>,
): EntityEndpoint & { readonly takes: readonly QueryName<Name>[] } {
  return {
    ...endpoint,
    takes: queryNamesOf(endpoint.parameters),
    run(context, plan, call) {
      refuseAgent(endpoint, call.caller.actor)
      if (isWrite(endpoint)) refuseKey(endpoint, call.key)
      return endpoint.run(context, plan, call as Call<QueryName<Name>>)
    },
  }
}

type Kind = Pick<ServerEndpoint, 'method' | 'reads'>

function isWrite({ method, reads }: Kind): boolean {
  return method !== 'GET' && !reads
}

/** Refuses writes by agents that cannot be planned: these cannot be taken back. */
function refuseAgent(endpoint: Kind & Pick<ServerEndpoint, 'plans'>, actor: Actor): void {
  if (endpoint.plans === undefined && isWrite(endpoint) && isAgent(actor)) throw new Failure('forbidden')
}

/** Rules do not stop read-only keys from writes of the server, and limits do not count what calls of admins cause. */
function refuseBoundKey(endpoint: Kind & Pick<ServerEndpoint, 'access'>, actor: Actor): void {
  if (actor.kind !== 'key' || !isWrite(endpoint)) return
  const isUncounted = endpoint.access === 'admins' && Object.keys(actor.limits ?? {}).length > 0
  if (actor.scope?.readOnly || isUncounted) throw new Failure('forbidden')
}

function admitActor({ access, ownLogin }: Pick<ServerEndpoint, 'access' | 'ownLogin'>, actor: Actor): void {
  if (ownLogin && isDelegate(actor)) throw new Failure('own_login_required')
  if (access === 'everyone') return
  if (actor.kind === 'nobody') throw signInFirst()
  if (access === 'admins' && !passesRules(actor)) throw new Failure('forbidden')
}
