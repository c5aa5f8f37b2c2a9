import type { Context } from '../../api/context.ts'
import type { Endpoints, EntityEndpoint, Method, ServerEndpoint } from '../../api/endpoint.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Handler, Route } from './route.ts'

const JSON_ONLY: readonly string[] = ['application/json']

/** Makes the routes of the API. Those of Entity types have their Plan bound to them. */
export function routesOf(context: Context, { server, entity }: Endpoints): Route[] {
  const paths = new Map<string, Partial<Record<Method, Handler>>>()
  const add = ({ path, method }: ServerEndpoint | EntityEndpoint, handler: Handler, name = '') => {
    const place = path
      .replace('{entity}', name)
      .replace(/\{(\w+)\}/g, ':$1')
      .replace(/\/$/, '')
    const methods = paths.get(place) ?? {}
    if (methods[method] !== undefined) throw new Error(`${method} ${place} is served twice`)
    methods[method] = handler
    paths.set(place, methods)
  }
  for (const endpoint of server)
    add(
      endpoint,
      handlerOf(endpoint, (call) => endpoint.run(context, call)),
    )
  for (const plan of context.plans.values())
    for (const endpoint of entity) add(endpoint, entityHandler(context, plan, endpoint), plan.type.name)
  return [...paths].map(([path, methods]) => ({ path, methods }))
}

function entityHandler(context: Context, plan: Plan, endpoint: EntityEndpoint): Handler {
  const { signsUp } = endpoint
  return {
    ...handlerOf(endpoint, (call) => endpoint.run(context, plan, call)),
    ...(signsUp !== undefined && { signsUp: () => signsUp(plan) }),
  }
}

function handlerOf(
  {
    body,
    maxBytes,
    produces = JSON_ONLY,
    takes,
    unlimited,
    reads,
    writes,
    expired,
    withoutFactor,
    plans,
  }: ServerEndpoint | EntityEndpoint,
  run: Handler['run'],
): Handler {
  const planned = plans === 'apart'
  const counted = { unlimited, reads, writes }
  return { body, maxBytes, produces, takes, ...counted, expired, withoutFactor, plans: planned, run }
}
