/** A call of the API, to be shown as code. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** The path after `/api/`: `rooms/5/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** The same call with `takeback/client`, after `api.`: `rooms.update(5, { beds: 3 })`. */
  readonly client: string
}

/** Returns the call of a list. */
export function listCall(entity: string, query: Readonly<Record<string, string | undefined>>): ApiCall {
  const { expand, fields, ...rest } = query
  const options = {
    ...rest,
    ...(fields !== undefined && { fields: fields.split(',') }),
    ...(expand !== undefined && { expand: expand.split(',') }),
  }
  return { method: 'GET', path: `${entity}/`, query, client: `${nameOf(entity)}.list(${literalOf(options)})` }
}

export function readCall(
  entity: string,
  id: number,
  query: Readonly<Record<string, string | undefined>> = {},
): ApiCall {
  const options = Object.values(query).some((value) => value !== undefined) ? `, ${literalOf(query)}` : ''
  return { method: 'GET', path: `${entity}/${id}/`, query, client: `${nameOf(entity)}.get(${id}${options})` }
}

export function createCall(entity: string, body: unknown): ApiCall {
  return { method: 'POST', path: `${entity}/`, body, client: `${nameOf(entity)}.create(${literalOf(body)})` }
}

export function updateCall(entity: string, id: number, body: unknown): ApiCall {
  const client = `${nameOf(entity)}.update(${id}, ${literalOf(body)})`
  return { method: 'PATCH', path: `${entity}/${id}/`, body, client }
}

export function deleteCall(entity: string, id: number): ApiCall {
  return { method: 'DELETE', path: `${entity}/${id}/`, client: `${nameOf(entity)}.delete(${id})` }
}

/** Returns the call for a terminal. The token is never a real one. */
export function curlOf({ method, path, query = {}, body }: ApiCall, origin: string): string {
  const parameters = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined)
  const url = `${origin}/api/${path}`
  const isRead = method === 'GET'
  const behind = isRead || parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`
  const lines = [
    `curl ${isRead ? '-G' : `-X ${method}`} ${quoted(url + behind)}`,
    '-H "Authorization: Bearer $TOKEN"',
    '-H "Accept: application/json"',
    ...(isRead ? parameters.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`) : []),
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d ${quoted(JSON.stringify(body))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

export function clientCodeOf({ client }: ApiCall, origin: string): string {
  return [
    "import { connect } from 'takeback/client'",
    "import type config from './takeback.config.ts'",
    '',
    `const api = connect<typeof config>('${origin}', { token: process.env.TOKEN })`,
    `const answer = await api.${client}`,
  ].join('\n')
}

/** Names of the client's own calls: an Entity type with such a name is under `entities`. */
const TAKEN = [
  'auth',
  'batch',
  'changes',
  'entities',
  'health',
  'login',
  'may',
  'model',
  'operations',
  'preview',
  'route',
]

function nameOf(entity: string): string {
  return TAKEN.includes(entity) ? `entities.${entity}` : entity
}

/** Returns a value as TypeScript. */
function literalOf(value: unknown): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (Array.isArray(value)) return `[${value.map(literalOf).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const parts = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}: ${literalOf(one)}`)
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
}
