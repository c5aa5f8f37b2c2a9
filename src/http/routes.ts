import type { Context } from '../api/context.ts'
import { create } from '../api/create.ts'
import { list } from '../api/list.ts'
import { login } from '../api/login.ts'
import { read } from '../api/read.ts'
import { remove } from '../api/remove.ts'
import { changePassword, logout, me, refresh } from '../api/session.ts'
import { parseId, update } from '../api/update.ts'
import type { Plan } from '../plan/compile.ts'
import type { Handler, Route } from './route.ts'

/** Every path of the API, each with its Plan bound to it. `openapi` is the document, made already. */
export function routesOf(context: Context, openapi: string): Route[] {
  const entities = [...context.plans.values()].flatMap((plan) => entityRoutes(context, plan))
  return [...authRoutes(context), ...aroundRoutes(context, openapi), ...entities]
}

function entityRoutes(context: Context, plan: Plan): Route[] {
  const path = `/api/${plan.type.name}`
  return [
    {
      path,
      methods: {
        GET: withQuery(({ caller, query }) => list(context, plan, caller.actor, query)),
        POST: withBody(({ caller, body }) => create(context, plan, caller.actor, body)),
      },
    },
    {
      path: `${path}/:id`,
      methods: {
        GET: withQuery(({ caller, id, query }) => read(context, plan, caller.actor, parseId(id), query)),
        PATCH: withBody(({ caller, id, body, when }) =>
          update(context, plan, caller.actor, { id: parseId(id), body, manner: 'partial', when }),
        ),
        PUT: withBody(({ caller, id, body, when }) =>
          update(context, plan, caller.actor, { id: parseId(id), body, manner: 'replace', when }),
        ),
        DELETE: withQuery(({ caller, id, query, when }) =>
          remove(context, plan, caller.actor, { id: parseId(id), query, when }),
        ),
      },
    },
  ]
}

function authRoutes(context: Context): Route[] {
  const post = (path: string, handler: Handler) => ({ path, methods: { POST: handler } })
  return [
    post(
      '/api/auth/login',
      withBody(({ body, address }) => login(context, body, address, false)),
    ),
    post(
      '/api/login',
      withBody(({ body, address }) => login(context, body, address, true)),
    ),
    { path: '/api/auth/me', methods: { GET: plain(({ caller }) => me(context, caller)) } },
    post(
      '/api/auth/refresh',
      plain(({ caller }) => refresh(context, caller)),
    ),
    post(
      '/api/auth/logout',
      plain(({ caller }) => logout(context, caller)),
    ),
    post(
      '/api/auth/password',
      withBody(({ caller, body, address }) => changePassword(context, caller, body, address)),
    ),
  ]
}

function aroundRoutes(context: Context, openapi: string): Route[] {
  return [
    {
      path: '/api/health',
      methods: {
        GET: plain(async () => {
          await context.store.ping()
          return { status: 200, body: '{"status":"ok"}' }
        }),
      },
    },
    { path: '/api/openapi.json', methods: { GET: plain(() => ({ status: 200, body: openapi })) } },
  ]
}

/** Takes neither a body nor a parameter. */
function plain(run: Handler['run']): Handler {
  return { body: false, run: (call) => refuseQuery(call, run) }
}

function withBody(run: Handler['run']): Handler {
  return { body: true, run: (call) => refuseQuery(call, run) }
}

function withQuery(run: Handler['run']): Handler {
  return { body: false, run }
}

function refuseQuery(call: Parameters<Handler['run']>[0], run: Handler['run']): ReturnType<Handler['run']> {
  call.query.refuseAll()
  return run(call)
}
