import { no, yes } from './cel/expression.ts'
import { Mistake } from './cel/parse.ts'
import { didYouMean } from './closest.ts'
import { labels } from './fields/field.ts'
import { type EntityType, type Field, type RouteType, walk } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'
import { resolveFields } from './resolve-fields.ts'
import { isRule, type Rule } from './rule.ts'
import { ruleFor, type Types } from './rules.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const WITH_BODY = ['POST', 'PUT', 'PATCH']
const PATH = /^\/api(?:\/(?:[a-z0-9][a-z0-9_.-]*|:[a-z][a-zA-Z0-9_]*))+\/?$/
const OPTIONS = ['access', 'body', 'query', 'run', 'label', 'description']

/** The user's own endpoints. Clashes with other endpoints are found later, when those are known. */
export function resolveRoutes(declared: unknown, types: Types, problems: Problems): RouteType[] {
  if (declared === undefined) return []
  if (!isRecord(declared)) {
    problems.push(['routes', "must be routes by method and path: { 'POST /api/checkout/': { run() { … } } }"])
    return []
  }
  return Object.entries(declared).flatMap(([key, route]) => resolveRoute(key, route, types, problems) ?? [])
}

function resolveRoute(key: string, route: unknown, types: Types, problems: Problems): RouteType | undefined {
  const at = `routes.${key}`
  const [, word = '', path = ''] = /^(\S+) (\S+)$/.exec(key) ?? []
  const method = METHODS.find((one) => one === word)
  if (method === undefined || !PATH.test(path)) {
    problems.push([
      at,
      `must be a method (${METHODS.join(', ')}) and a path in lower case under /api/, such as 'POST /api/checkout/' or 'GET /api/rooms/:id/free/'`,
    ])
    return undefined
  }
  if (!isRecord(route) || typeof route.run !== 'function') {
    problems.push([at, 'must be a route: { access: signedIn, async run({ me, body, api }) { … } }'])
    return undefined
  }
  checkNames(route, at, problems)
  if (route.body !== undefined && !WITH_BODY.includes(method))
    problems.push([`${at}.body`, `is not possible for ${method}: use query`])
  const params = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  if (new Set(params).size < params.length) problems.push([at, 'has a parameter twice'])
  return {
    key,
    method,
    path: `${path.replace(/\/$/, '').replace(/:(\w+)/g, '{$1}')}/`,
    params,
    query: resolveQuery(route.query, at, problems),
    body: route.body === undefined ? undefined : resolveBody(route.body, types, at, problems),
    admitted: resolveAccess(route.access, types, at, problems),
    label: typeof route.label === 'string' ? route.label : undefined,
    description: typeof route.description === 'string' ? route.description : undefined,
    run: (call) => (route as { run(call: object): unknown }).run(call),
  }
}

function checkNames(route: Record<string, unknown>, at: string, problems: Problems): void {
  for (const name of Object.keys(route))
    if (!OPTIONS.includes(name))
      problems.push([`${at}.${name}`, `is not an option of a route${didYouMean(name, OPTIONS)}`])
  for (const name of ['label', 'description'] as const) {
    const wrong = route[name] === undefined ? undefined : labels[name](route[name])
    if (wrong !== undefined) problems.push([`${at}.${name}`, wrong])
  }
}

function resolveQuery(query: unknown = [], at: string, problems: Problems): readonly string[] {
  const isName = (name: unknown) =>
    typeof name === 'string' && /^[a-z][a-zA-Z0-9_]*$/.test(name) && name !== 'token'
  if (Array.isArray(query) && query.every(isName)) return query
  problems.push([`${at}.query`, "must be a list of names of parameters, such as ['from', 'to']"])
  return []
}

/** Resolves the body as a type of its own, so that it is checked and described like any other body. */
function resolveBody(
  body: unknown,
  { entities }: Types,
  at: string,
  problems: Problems,
): EntityType | undefined {
  if (!isRecord(body) || body.type !== 'object') {
    problems.push([`${at}.body`, 'must be made by object({ … })'])
    return undefined
  }
  const place = { path: `${at}.body`, dotPath: 'body', names: [...entities.keys()], taken: [], inList: false }
  const fields = resolveFields(body.fields, place, problems)
  for (const field of walk(fields)) refuseStored(field, at, problems)
  return Object.freeze({ ...NOTHING, name: 'body', fields: Object.freeze(fields) })
}

/** Refuses options that only make sense for stored data. */
function refuseStored(field: Field, at: string, problems: Problems): void {
  const given = {
    read: field.read,
    write: field.write,
    was: field.was,
    unique: 'unique' in field && field.unique ? true : undefined,
    search: 'search' in field && field.search ? true : undefined,
    as: 'as' in field ? field.as : undefined,
    default: 'provided' in field ? field.provided : undefined,
  }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined)
      problems.push([`${at}.${field.path}.${name}`, 'means nothing in the body of a route: remove it'])
}

const NOTHING: EntityType = Object.freeze({
  name: '',
  label: undefined,
  description: undefined,
  title: undefined,
  was: undefined,
  fields: [],
  login: undefined,
  uniques: [],
  indexes: [],
  checks: [],
  computed: new Map(),
  access: {},
  rules: new Map(),
  retention: { trash: undefined, journal: undefined },
  before: undefined,
})

/** The login types that may call it; `''` is nobody. Its rule can only be about the caller: there is no Entity. */
function resolveAccess(rule: unknown, types: Types, at: string, problems: Problems): ReadonlySet<string> {
  if (rule === undefined) return new Set()
  if (!isRule(rule)) {
    problems.push([
      `${at}.access`,
      'must be everyone, signedIn or a condition on me.type, such as \'me.type == "staff"\'',
    ])
    return new Set()
  }
  try {
    return new Set([undefined, ...types.logins].flatMap((login) => admittedAs(rule, login, types)))
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    problems.push([`${at}.access`, error.message])
    return new Set()
  }
}

function admittedAs(rule: Rule, login: EntityType | undefined, types: Types): string[] {
  const found = ruleFor({ rule, subject: 'create' }, NOTHING, login, types)
  if (found !== yes && found !== no)
    throw new Mistake('can only be about me.type: check the rest in run, and throw forbidden()')
  return found === yes ? [login?.name ?? ''] : []
}
