import pkg from '../../package.json'
import { CHANGES, CUSTOM, headers, KEYS, OPERATIONS, SERVICE, SESSIONS, SYSTEM } from '../api/description.ts'
import type { Endpoints } from '../api/endpoint.ts'
import { endpoints } from '../api/endpoints.ts'
import { shared } from '../api/parameters.ts'
import type { Model } from '../declare/model.ts'
import type { Operation } from './operation.ts'
import { operationsOf } from './operations.ts'
import { failuresOf, responsesOf } from './responses.ts'
import { schemasOf } from './schemas.ts'

const DESCRIPTION = `All Entity types have the same calls: create, read, list, change, delete, restore, undo.

- Every request needs \`Accept: application/json\`. Send a body as \`Content-Type: application/json\`: at most 1 MiB, at most 64 levels deep, not compressed, without duplicate keys.
- Every path works with and without its trailing \`/\`. \`HEAD\` works wherever \`GET\` does. Other methods are answered with 405 \`method_not_allowed\`.
- Unknown keys and parameters are refused, not ignored.
- Times are RFC 3339, in UTC with milliseconds. A reference is \`{"id": 5}\` in requests and answers.
- A token that is invalid, expired or revoked is refused, even by calls that need no token.
- Too many requests are answered with 429 and \`Retry-After\`. \`RateLimit\` and \`RateLimit-Policy\` show how many are left.
- Every failure is an \`Error\`. Its \`code\` is for programs; the rest is for people.`

/** The parts of the configuration that change the document. */
export interface Offered {
  /** Whether a token may be sent in the URL. */
  readonly queryToken: boolean
  /** The endpoints that are served. */
  readonly endpoints?: Endpoints
}

/** Makes the OpenAPI 3.1 document. */
export function documentOf(model: Model, offered: Offered = { queryToken: true }): object {
  const { queryToken, endpoints: served = endpoints } = offered
  const operations = operationsOf(model, served)
  return {
    openapi: '3.1.0',
    info: { title: 'Takeback', version: pkg.version, description: DESCRIPTION },
    servers: [{ url: '/' }],
    tags: tagsOf(model, operations),
    paths: pathsOf(operations, queryToken),
    components: {
      schemas: schemasOf(model, served),
      parameters: shared,
      headers,
      responses: failuresOf(operations),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'The `token` that login returns, or a key of a program.',
        },
        ...(queryToken && {
          token: {
            type: 'apiKey',
            in: 'query',
            name: 'token',
            description: 'The same token in the URL, for clients that cannot set a header. The header wins.',
          },
        }),
      },
    },
  }
}

const TAGS: Readonly<Record<string, string>> = {
  [SESSIONS]: 'Log in and out.',
  [KEYS]: 'Keys for programs and agents.',
  [CHANGES]: 'What changes, as it changes: for live lists and copies of data.',
  [OPERATIONS]: 'Everything that was done, and how to take it back.',
  [SERVICE]: 'The service itself.',
  [SYSTEM]: 'For admins: what the server is doing, and what it still has to do.',
  [CUSTOM]: 'What this app adds.',
}

/** The tags, in the order of the operations. */
function tagsOf({ entities }: Model, operations: readonly Operation[]): object[] {
  return [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
    name,
    ...(entities.has(name)
      ? { description: entities.get(name)?.description ?? `Entities of the type ${name}.` }
      : name in TAGS && { description: TAGS[name] }),
  }))
}

function pathsOf(operations: readonly Operation[], queryToken: boolean): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations)
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describeOperation(operation, queryToken),
    }
  return paths
}

/** How to send the token. If none is needed, an empty entry comes first. */
function securityOf(open: boolean, queryToken: boolean): object[] {
  return [...(open ? [{}] : []), { bearer: [] }, ...(queryToken ? [{ token: [] }] : [])]
}

function requestOf({ schema, example, optional }: NonNullable<Operation['body']>): object {
  return { requestBody: { required: !optional, content: { 'application/json': { schema, example } } } }
}

function describeOperation(operation: Operation, queryToken: boolean): object {
  const { id, tag, summary, description, open, parameters, body } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: securityOf(open, queryToken),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && requestOf(body)),
    responses: responsesOf(operation),
  }
}
