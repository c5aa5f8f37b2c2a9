import pkg from '../../package.json'
import { headers, OPERATIONS, SERVICE, SESSIONS } from '../api/description.ts'
import type { Endpoints } from '../api/endpoint.ts'
import { endpoints } from '../api/endpoints.ts'
import { shared } from '../api/parameters.ts'
import type { Model } from '../declare/model.ts'
import type { Operation } from './operation.ts'
import { operationsOf } from './operations.ts'
import { failuresOf, responsesOf } from './responses.ts'
import { schemasOf } from './schemas.ts'

const DESCRIPTION = `Every Entity is created, read, listed, changed, deleted and restored in the same way.

- Every request says \`Accept: application/json\`; a body is sent as \`Content-Type: application/json\`, 1 MiB at most, 64 levels deep. It is not compressed. No object in it has a key twice.
- Every path works with and without its trailing \`/\`, and \`HEAD\` wherever \`GET\` does. Another method is answered with 405, \`method_not_allowed\`.
- Keys and parameters that are not known are refused, not ignored.
- Times are RFC 3339, in UTC with milliseconds. A reference is \`{"id": 5}\`, in and out.
- A token that is invalid, expired or revoked is refused even where none is needed.
- Whoever calls too often gets 429 with \`Retry-After\`; \`RateLimit\` and \`RateLimit-Policy\` tell how much is left.
- Every failure is an \`Error\`; its \`code\` is for programs, the rest is for people.`

/** What a server may be told not to offer. */
export interface Offered {
  /** Whether a token may stand in the address. */
  readonly queryToken: boolean
  /** What is served. */
  readonly endpoints?: Endpoints
}

/** The OpenAPI 3.1 document of all that is served. */
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
          description: 'The `token` that login gives.',
        },
        ...(queryToken && {
          token: {
            type: 'apiKey',
            in: 'query',
            name: 'token',
            description: 'The same in the URL, for where no header can be set. The header wins.',
          },
        }),
      },
    },
  }
}

const TAGS: Readonly<Record<string, string>> = {
  [SESSIONS]: 'Logging in and out.',
  [OPERATIONS]: 'What was done, and taking it back.',
  [SERVICE]: 'About the service itself.',
}

/** In the order of the operations. */
function tagsOf({ entities }: Model, operations: readonly Operation[]): object[] {
  return [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
    name,
    ...(entities.has(name)
      ? { description: `Entities of the type ${name}.` }
      : name in TAGS && { description: TAGS[name] }),
  }))
}

function pathsOf(operations: readonly Operation[], queryToken: boolean): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations)
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation, queryToken),
    }
  return paths
}

/** The ways of sending the token; an empty one first where none is needed. */
function securityOf(open: boolean, queryToken: boolean): object[] {
  return [...(open ? [{}] : []), { bearer: [] }, ...(queryToken ? [{ token: [] }] : [])]
}

function requestOf({ schema, example, optional }: NonNullable<Operation['body']>): object {
  return { requestBody: { required: !optional, content: { 'application/json': { schema, example } } } }
}

function describe(operation: Operation, queryToken: boolean): object {
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
