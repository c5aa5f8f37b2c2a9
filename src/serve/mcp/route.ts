import type { Context } from '../../api/context.ts'
import { Failure } from '../../errors.ts'
import type { HttpCall } from '../http/http-call.ts'
import type { Origins } from '../http/origins.ts'
import type { Route } from '../http/route.ts'

const TYPES = ['application/json', 'text/event-stream']

/** `POST /mcp`: Streamable HTTP without sessions, so every instance can answer every request. */
export function mcpRoute(context: Context, origins: Origins): Route {
  const run = async (call: HttpCall) => {
    refuseOrigin(call, context, origins)
    const { answerMessage } = await import('./answer.ts')
    return answerMessage(context, call)
  }
  return { path: '/mcp', methods: { POST: { body: 'object', produces: TYPES, takes: [], reads: true, run } } }
}

/** Required by the protocol: a page of another site must not reach a server in a private network. */
function refuseOrigin({ headers }: HttpCall, { settings }: Context, origins: Origins): void {
  const origin = headers.get('origin')
  if (origin === null || settings.returnOrigins.has(origin) || origins.allows(origin)) return
  throw new Failure('forbidden', { errors: new Map([['Origin', ['is not allowed: see --allow-origins']]]) })
}
