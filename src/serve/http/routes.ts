import { batch, signUpsIn } from '../../api/batch.ts'
import type { Answer, Context } from '../../api/context.ts'
import { create } from '../../api/create.ts'
import { createMany } from '../../api/create-many.ts'
import { healthDetails } from '../../api/health-details.ts'
import { history } from '../../api/history.ts'
import { list } from '../../api/list.ts'
import { login } from '../../api/login.ts'
import { performOnce, transactOnce } from '../../api/once.ts'
import { operation, operations } from '../../api/operations.ts'
import { rehearse } from '../../api/perform.ts'
import { read } from '../../api/read.ts'
import { previewRemoval, remove } from '../../api/remove.ts'
import { revert } from '../../api/revert.ts'
import { changePassword, logout, me, refresh } from '../../api/session.ts'
import { signsUp } from '../../api/sign-up.ts'
import { step } from '../../api/stack.ts'
import { summary } from '../../api/summary.ts'
import { undo, undoMany } from '../../api/undo.ts'
import { parseId, update } from '../../api/update.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Call, Handler, Route } from './route.ts'

/** Every path of the API, each with its Plan bound to it. `openapi` gives the document, where it is served. */
export function routesOf(context: Context, openapi: (() => string) | undefined): Route[] {
  const entities = [...context.plans.values()].flatMap((plan) => [
    ...entityRoutes(context, plan),
    ...pastRoutes(context, plan),
  ])
  return [
    ...authRoutes(context),
    ...healthRoutes(context),
    ...(openapi === undefined ? [] : [documentRoute(openapi)]),
    ...operationRoutes(context),
    batchRoute(context),
    ...entities,
  ]
}

function entityRoutes(context: Context, plan: Plan): Route[] {
  const path = `/api/${plan.type.name}`
  return [
    {
      path,
      methods: {
        GET: plain(({ caller, query }) => list(context, plan, caller.actor, query)),
        POST: { ...withAny((call) => createAny(context, plan, call)), signsUp: () => signsUp(plan) },
      },
    },
    {
      path: `${path}/summary`,
      methods: {
        GET: plain(({ caller, query }) => summary(context, plan, caller.actor, query)),
      },
    },
    {
      path: `${path}/:id`,
      methods: {
        GET: plain(({ caller, id, query }) => read(context, plan, caller.actor, parseId(id), query)),
        PATCH: withBody((call) => change(context, plan, call, 'partial')),
        PUT: withBody((call) => change(context, plan, call, 'replace')),
        DELETE: plain((call) => {
          const { caller, query, when } = call
          const id = parseId(call.id)
          if (query.has('purge')) call.waitLong()
          const removal = { id, query, when }
          if (query.asks('dry_run'))
            return rehearse(context.store, () => previewRemoval(context, plan, caller.actor, removal))
          const make = () => remove(context, plan, caller.actor, removal)
          return query.asks('with') ? transactOnce(context, call, make) : performOnce(context, call, make)
        }),
      },
    },
  ]
}

function change(context: Context, plan: Plan, call: Call, manner: 'partial' | 'replace'): Promise<Answer> {
  const { caller, body, when, query } = call
  const id = parseId(call.id)
  return performOnce(context, call, () =>
    update(context, plan, caller.actor, { id, body, manner, when, query }),
  )
}

/** One, or a list. One sign-up is counted before the body is read. */
function createAny(context: Context, plan: Plan, call: Call): Promise<Answer> {
  const { caller, body, query } = call
  if (Array.isArray(body)) return createList(context, plan, call, body)
  return performOnce(context, call, () => create(plan, caller.actor, body, query))
}

async function createList(
  context: Context,
  plan: Plan,
  call: Call,
  body: readonly unknown[],
): Promise<Answer> {
  const { caller, query } = call
  if (signsUp(plan, caller.actor)) await call.signUp(body.length)
  return transactOnce(context, call, () => createMany(plan, caller.actor, body, query))
}

function pastRoutes(context: Context, plan: Plan): Route[] {
  const path = `/api/${plan.type.name}/:id`
  return [
    {
      path: `${path}/history`,
      methods: {
        GET: plain(({ caller, id, query }) => history(context, plan, caller.actor, parseId(id), query)),
      },
    },
    {
      path: `${path}/revert`,
      methods: {
        POST: withBody((call) => {
          const { caller, body, when, query } = call
          const id = parseId(call.id)
          return performOnce(context, call, () =>
            revert(context, plan, caller.actor, { id, body, when, query }),
          )
        }),
      },
    },
    ...(['undo', 'redo'] as const).map((way) => ({
      path: `${path}/${way}`,
      methods: {
        POST: withOptionalBody((call) => {
          const { when, query } = call
          return step(context, plan, call, way, { id: parseId(call.id), when, query })
        }),
      },
    })),
  ]
}

function batchRoute(context: Context): Route {
  return {
    path: '/api/batch',
    methods: {
      POST: withAny(async (call) => {
        const { actor } = call.caller
        await call.signUp(signUpsIn(context, actor, call.body))
        return transactOnce(context, call, () => batch(context, actor, call.body, call.query))
      }),
    },
  }
}

function operationRoutes(context: Context): Route[] {
  const path = '/api/operations'
  return [
    {
      path,
      methods: { GET: plain(({ caller, query }) => operations(context, caller.actor, query)) },
    },
    {
      path: `${path}/undo`,
      methods: {
        POST: withBody((call) => {
          call.waitLong()
          return undoMany(context, call, call.query)
        }),
      },
    },
    {
      path: `${path}/:id`,
      methods: { GET: plain(({ caller, id, query }) => operation(context, caller.actor, id, query)) },
    },
    {
      path: `${path}/:id/undo`,
      methods: {
        POST: withOptionalBody((call) => {
          call.waitLong()
          return undo(context, call, call.id, call.query)
        }),
      },
    },
  ]
}

function authRoutes(context: Context): Route[] {
  const post = (path: string, handler: Handler) => ({ path, methods: { POST: handler } })
  return [
    post(
      '/api/auth/login',
      withBody((call) => login(context, call, false)),
    ),
    post(
      '/api/login',
      withBody((call) => login(context, call, true)),
    ),
    { path: '/api/auth/me', methods: { GET: plain(({ caller, query }) => me(context, caller, query)) } },
    post(
      '/api/auth/refresh',
      plain(({ caller, query, signal }) => refresh(context, caller, query, signal)),
    ),
    post(
      '/api/auth/logout',
      plain(({ caller, query, signal }) => logout(context, caller, query, signal)),
    ),
    post('/api/auth/password', {
      ...withBody((call) => changePassword(context, call.caller, call)),
      expired: true,
    }),
  ]
}

function healthRoutes(context: Context): Route[] {
  const run: Handler['run'] = async ({ query }) => {
    query.refuseAll()
    await context.health.check()
    return { status: 200, body: '{"status":"ok"}' }
  }
  return [
    { path: '/api/health', methods: { GET: { ...plain(run), unlimited: true } } },
    {
      path: '/api/health/details',
      methods: { GET: plain(({ caller, query }) => healthDetails(context, caller.actor, query)) },
    },
  ]
}

function documentRoute(openapi: () => string): Route {
  const run: Handler['run'] = ({ query }) => {
    query.refuseAll()
    return { status: 200, body: openapi() }
  }
  return { path: '/api/openapi.json', methods: { GET: plain(run) } }
}

function plain(run: Handler['run']): Handler {
  return { body: false, run }
}

function withAny(run: Handler['run']): Handler {
  return { body: 'any', run }
}

function withOptionalBody(run: Handler['run']): Handler {
  return { body: 'optional', run }
}

function withBody(run: Handler['run']): Handler {
  return { body: 'object', run }
}
