import { expect, test } from 'bun:test'
import { onOneStore, type TestServer } from '../harness.ts'
import { onceWorld } from '../once-world.ts'

const { declaration, outbox, requestsOn } = onceWorld()

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: { readonly default?: unknown }
}

interface Described {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly responses: Readonly<Record<string, { readonly content?: object }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> }
}

/** Returns the query parameters with a default in the document, as they are sent. */
function defaultsOf(document: Document, method: string, path: string): [string, string][] {
  const all = document.paths[path]?.[method.toLowerCase()]?.parameters ?? []
  const described = all.map((one) =>
    '$ref' in one ? (document.components.parameters[one.$ref.split('/').at(-1) ?? ''] as Parameter) : one,
  )
  return described
    .filter((one) => one.in === 'query' && one.schema.default !== undefined)
    .map(({ name, schema }) => [name, String(schema.default)])
}

/** Adds the parameters that the path does not have yet. */
function withAll(path: string, parameters: readonly [string, string][]): string {
  const url = new URL(path, 'http://localhost')
  for (const [name, value] of parameters)
    if (!url.searchParams.has(name)) url.searchParams.append(name, value)
  return `${url.pathname}${url.search}`
}

const documentOf = (server: TestServer): Promise<Document> => server.expect(200, 'GET', '/api/openapi.json')

onOneStore(
  'sqlite',
  'the default of a parameter',
  declaration,
  (server) => {
    for (const [name, request] of Object.entries(requestsOn(server)))
      test(`can be sent: ${name}`, async () => {
        const [method = '', template = ''] = name.split(' ')
        const defaults = defaultsOf(await documentOf(server), method, template.replace('{entity}', 'notes'))
        const { path, effect: _, again: __, ...sent } = await request()
        const answer = await server.call(method, withAll(path, defaults), sent)
        expect([defaults, answer.status < 300 || answer.text]).toEqual([defaults, true])
      })

    test('can be sent with whatever is read, and the answer is the same', async () => {
      // More than a page of everything.
      for (let at = 0; at < 30; at++) await server.expect(201, 'POST', '/api/notes/', { title: `note ${at}` })
      const document = await documentOf(server)
      const reads = Object.entries(document.paths).filter(
        ([, { get }]) => get !== undefined && 'application/json' in (get.responses[200]?.content ?? {}),
      )
      let tried = 0
      for (const [template] of reads) {
        const defaults = defaultsOf(document, 'GET', template)
        if (defaults.length === 0) continue
        const path = template.replace(/\{id\}/, '1').replace(/\{\w+\}/, 'x')
        const [plain, given] = [
          await server.call('GET', path),
          await server.call('GET', withAll(path, defaults)),
        ]
        expect([path, given.status, given.text]).toEqual([path, plain.status, plain.text])
        tried++
      }
      expect(tried).toBeGreaterThan(10)
    })
  },
  { outbox },
)
