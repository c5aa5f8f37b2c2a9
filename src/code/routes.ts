import type { Call } from '../api/call.ts'
import { type Answer, type Context, signInFirst } from '../api/context.ts'
import { CUSTOM, type Description } from '../api/description.ts'
import type { Endpoints, ServerEndpoint } from '../api/endpoint.ts'
import { runOnce } from '../api/idempotency.ts'
import type { Parameter } from '../api/parameters.ts'
import { budget } from '../budget.ts'
import type { Model, RouteType } from '../declare/model.ts'
import { objectCheck, objectSchema, type Values } from '../declare/values.ts'
import { type Errors, Failure, invalid, StartError, TooLate } from '../errors.ts'
import { type Actor, isAgent, passesRules, userOf } from '../plan/viewer/actor.ts'
import type { KeyScope } from '../plan/viewer/key-scope.ts'
import { apiOf } from './api.ts'
import { originOf, passedOn } from './errors.ts'
import { guarded } from './guard.ts'
import { toJson } from './json.ts'
import { meOf } from './me.ts'
import { addDeadTargetErrors } from './targets.ts'

/** The endpoints of the user's own routes. They keep to the contract like all others. */
export function routeEndpoints(model: Model, known: Endpoints): ServerEndpoint[] {
  const made: ServerEndpoint[] = []
  for (const route of model.code.routes) {
    refuseShadow(route, model, { ...known, server: [...known.server, ...made] })
    const names = [...known.server, ...made].map(({ name }) => name)
    made.push({ ...endpointOf(route), name: unused(nameOf(route), names) })
  }
  return made
}

/** Throws if one request could mean two paths. */
function refuseShadow({ key, method, path }: RouteType, model: Model, { server, entity }: Endpoints): void {
  const taken = [
    ...server,
    ...[...model.entities.keys()].flatMap((name) =>
      entity.map((one) => ({ method: one.method, path: one.path.replace('{entity}', name) })),
    ),
  ]
  const other = taken.find((one) => one.method === method && isSamePlace(one.path, path))
  if (other !== undefined)
    throw new StartError(
      `routes.${key}: conflicts with ${other.method} ${other.path}, which already exists; choose another path`,
    )
}

function isSamePlace(one: string, other: string): boolean {
  const [left, right] = [one, other].map((path) => path.replace(/\/$/, '').split('/'))
  const isOpen = (part: string | undefined) => part?.startsWith('{') === true
  return (
    left?.length === right?.length &&
    left?.every((part, at) => part === right?.[at] || isOpen(part) || isOpen(right?.[at])) === true
  )
}

function endpointOf(route: RouteType): ServerEndpoint {
  const { method, path, query, body } = route
  const check = body && objectCheck(body.fields, 'whole', () => 'is not a field here')
  return {
    name: nameOf(route),
    method,
    path,
    tag: CUSTOM,
    access: 'everyone',
    parameters: method === 'GET' ? [] : ['Idempotency-Key'],
    takes: query,
    ...(body !== undefined && { body: 'object' }),
    describe: (about) => describe(route, body && about.sample(body)),
    async run(context, call) {
      admitCaller(route, call.caller.actor)
      const errors: Errors = new Map()
      const given = call.query.take(errors)
      const checked = check?.(call.body, '', errors) as Values | undefined
      if (body !== undefined && checked !== undefined)
        await addDeadTargetErrors(context, body.fields, checked, errors)
      if (errors.size > 0) throw invalid(errors)
      const run = () => answer(context, route, call, { body: checked, query: given })
      return method === 'GET' ? run() : runOnce(context, call, run)
    },
  }
}

/** `POST /api/checkout/` → `postCheckout`. */
function nameOf({ method, path }: RouteType): string {
  const words = path.split(/[^a-zA-Z0-9]+/).filter((word) => word !== '' && word !== 'api')
  return [method.toLowerCase(), ...words.map((word) => word[0]?.toUpperCase() + word.slice(1))].join('')
}

function unused(name: string, names: readonly string[], number = 2): string {
  if (!names.includes(name)) return name
  return names.includes(`${name}${number}`) ? unused(name, names, number + 1) : `${name}${number}`
}

function admitCaller({ admitted, method }: RouteType, actor: Actor): void {
  if (actor.kind === 'key' && actor.scope !== undefined) refuseKey(actor.scope, method)
  if (passesRules(actor) || admitted.has(userOf(actor)?.entity ?? '')) return
  throw actor.kind === 'nobody' ? signInFirst() : new Failure('forbidden')
}

/** A route can do anything: it is not for keys of some types only, nor, if it may write, for keys that may not. */
function refuseKey({ entities, readOnly, agent }: KeyScope, method: RouteType['method']): void {
  if (entities !== undefined || (method !== 'GET' && (readOnly || agent))) throw new Failure('forbidden')
}

async function answer(
  context: Context,
  route: RouteType,
  { caller, params = {}, depth = 0 }: Call,
  given: { readonly body: Values | undefined; readonly query: object },
): Promise<Answer> {
  const until = AbortSignal.timeout(budget.routeMs)
  const answered = (text: unknown): Answer =>
    text === undefined ? { status: 204 } : { status: 200, body: String(text) }
  const name = `routes.${route.key}`
  const text = await guarded({
    name,
    until,
    answer: (error) => passedOn(error) ?? originOf(error)?.asCaller,
    async run() {
      const me = await meOf(context, caller.actor)
      const api = apiOf(context, {
        caller,
        signal: until,
        depth: depth + 1,
        readsOnly: isAgent(caller.actor),
      })
      const value = await route.run({ ...given, me, api, params, signal: until })
      if (value === undefined) return undefined
      const json = toJson(value)
      if (json === undefined) throw new TypeError(`it must return JSON, not ${typeof value}`)
      if (Buffer.byteLength(json) > budget.answerBytes) throw new RangeError('its answer is too large')
      return json
    },
  }).catch((error) => {
    throw error instanceof TooLate ? new TooLate(name, error.later.then(answered)) : error
  })
  return answered(text)
}

function describe(route: RouteType, example: object | undefined): Description {
  const { key, method, label, description, body, params, query, admitted } = route
  const open = admitted.has('')
  const headers = method === 'GET' ? [] : (['Idempotent-Replay'] as const)
  const parameter =
    (where: 'path' | 'query') =>
    (name: string): Parameter => ({
      name,
      in: where,
      description: `The parameter \`${name}\`.`,
      ...(where === 'path' && { required: true }),
      schema: { type: 'string', ...(where === 'path' && { examples: ['1'] }) },
    })
  return {
    summary: label ?? key,
    description: description ?? 'An endpoint of this app.',
    open,
    parameters: [...params.map(parameter('path')), ...query.map(parameter('query'))],
    ...(body !== undefined && {
      body: { schema: objectSchema(body.fields, 'whole', 'in'), example: example ?? {} },
    }),
    answers: [
      { status: 200, description: 'The answer.', headers, schema: {} },
      { status: 204, description: 'Done. The answer has no body.', headers },
    ],
    codes: [...(open ? [] : (['unauthenticated'] as const)), 'forbidden', 'not_found', 'busy', 'disk_full'],
  }
}
