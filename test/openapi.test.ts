import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import { endpoints } from '../src/api/endpoints.ts'
import { type App, loadModel, openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { entityNameProblem } from '../src/declare/entity-names.ts'
import type { Model } from '../src/declare/model.ts'
import { resolve } from '../src/declare/resolve.ts'
import { catalogue } from '../src/errors.ts'
import { documentOf } from '../src/openapi/document.ts'
import { sampleAnswer, sampleOf } from '../src/openapi/sample.ts'
import { compilePlans } from '../src/plan/compile.ts'
import { system } from '../src/plan/viewer/actor.ts'
import { routesOf } from '../src/serve/http/routes.ts'
import { dialect } from '../src/store/sqlite/dialect.ts'
import { app, entity, list, object, secret, text } from '../src/takeback.ts'
import { bookings, everything, graph } from './declarations.ts'
import { ADMIN, onEveryStore, type TestRequest } from './harness.ts'

const EXAMPLE = join(import.meta.dir, '../examples/bookings/takeback.config.ts')
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Names and patterns that could break the document. */
const awkward = app({
  entities: {
    orders: entity({
      fields: {
        limit: text({ optional: true }),
        token: text(),
        toString: text(),
        code: text({ pattern: '^(?i)[[:alpha:]]{3}\\z' }),
        pin: secret(),
        rows: list(object({ zip: text({ pattern: '^[A-Z]{2}$' }) }), { min: 2 }),
      },
    }),
    orders_create: entity({ fields: { name: text() } }),
    order__lines: entity({ fields: { name: text() } }),
    order_lines: entity({ fields: { name: text() } }),
  },
})

const example = await loadModel(EXAMPLE)
const models: [string, Model][] = [
  ['the example', example],
  ['everything', resolve(everything)],
  ['a graph', resolve(graph)],
  ['awkward names', resolve(awkward)],
]

/** Yields every object in a document, with its JSON pointer. */
function* nodes(value: unknown, pointer = '#'): Generator<[pointer: string, node: Record<string, any>]> {
  if (typeof value !== 'object' || value === null) return
  yield [pointer, value as Record<string, any>]
  for (const [key, inner] of Object.entries(value))
    yield* nodes(inner, `${pointer}/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
}

function follow(document: any, node: any): any {
  if (node?.$ref === undefined) return node
  const keys = node.$ref.slice(2).split('/')
  return keys.reduce((at: any, key: string) => at?.[key], document)
}

function operationsIn(document: any): { path: string; method: string; operation: any }[] {
  return Object.entries<any>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
}

function compilerOf(document: object): (pointer: string) => (value: unknown) => string[] {
  // Each schema runs once or never, so it need not be fast.
  const ajv = new Ajv({ strict: false, allErrors: true, ownProperties: true, code: { optimize: false } })
  for (const format of ['date', 'date-time', 'email', 'uri', 'uuid', 'password']) ajv.addFormat(format, true)
  ajv.addSchema({ ...document, $id: 'document' })
  const compiled = new Map<string, ValidateFunction>()
  return (pointer) => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `document${pointer}` })
    compiled.set(pointer, validate)
    return (value) =>
      validate(value) ? [] : (validate.errors ?? []).map((one) => `${one.instancePath} ${one.message}`)
  }
}

for (const [name, model] of models)
  describe(`the OpenAPI document of ${name}`, () => {
    const document: any = JSON.parse(JSON.stringify(documentOf(model)))
    const operations = operationsIn(document)

    test('has no dangling reference', () => {
      for (const [pointer, node] of nodes(document))
        if (typeof node.$ref === 'string')
          expect(follow(document, node), `${pointer}: ${node.$ref}`).toBeDefined()
    })

    test('declares what its paths take, each once', () => {
      for (const { path, operation } of operations) {
        const parameters = (operation.parameters ?? []).map((one: any) => follow(document, one))
        const keys = parameters.map((one: any) => `${one.in} ${one.name}`)
        expect(new Set(keys).size, path).toBe(keys.length)
        const inPath = parameters.filter((one: any) => one.in === 'path' && one.required)
        expect(inPath.map((one: any) => one.name)).toEqual(
          [...path.matchAll(/\{(\w+)\}/g)].map((one) => one[1]),
        )
      }
    })

    test('names each operation once, and only what is declared', () => {
      const ids = operations.map(({ operation }) => operation.operationId)
      expect(new Set(ids).size).toBe(ids.length)
      const tags = document.tags.map((tag: any) => tag.name)
      for (const { method, operation } of operations) {
        expect(METHODS).toContain(method)
        expect(tags).toContain(operation.tags[0])
        for (const way of operation.security.flatMap(Object.keys))
          expect(document.components.securitySchemes).toHaveProperty(way)
      }
      for (const key of Object.values<object>(document.components).flatMap(Object.keys))
        expect(key).toMatch(/^[a-zA-Z0-9._-]+$/)
    })

    test('has schemas that compile, and examples that fit them', () => {
      const compile = compilerOf(document)
      for (const key of Object.keys(document.components.schemas)) compile(`#/components/schemas/${key}`)
      // Most calls have the same parameters.
      const places = new Map<string, string>()
      for (const [pointer, node] of nodes(document)) {
        if (node.schema === undefined) continue
        // A schema that is only a reference stands for the schema that it names.
        const { $ref, ...more } = node.schema
        const named = typeof $ref === 'string' && Object.keys(more).length === 0
        const text = JSON.stringify(node.schema)
        const place = named ? $ref : (places.get(text) ?? `${pointer}/schema`)
        places.set(text, place)
        const check = compile(place)
        const examples = [
          ...(node.example === undefined ? [] : [node.example]),
          ...Object.values<any>(node.examples ?? {}).map((one) => one.value),
        ]
        for (const example of examples) expect(check(example), pointer).toEqual([])
      }
    })

    test('is read by generators of types as it is meant', () => {
      for (const [pointer, node] of nodes(document)) {
        if (!pointer.includes('schema')) continue
        const { type, enum: values, properties, additionalProperties } = node
        // Generators take an enum without a type for anything, and an object without properties for an empty one.
        if (Array.isArray(values)) expect([pointer, type]).toEqual([pointer, expect.anything()])
        const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
        if (isObject && properties === undefined)
          expect([pointer, additionalProperties]).toEqual([pointer, expect.anything()])
        // Generators take a field with a default for one that is always there, but requests may leave it out.
        if (/^#\/components\/schemas\//.test(pointer) && !pointer.endsWith('/properties'))
          expect([pointer, 'default' in node]).toEqual([pointer, false])
        // Generators take a branch with only `required` for anything.
        for (const branch of [...(node.anyOf ?? []), ...(node.oneOf ?? [])])
          expect([pointer, Object.keys(branch)]).not.toEqual([pointer, ['required']])
      }
    })

    test('shows samples that its types take', () => {
      const plans = compilePlans(model, dialect)
      for (const type of model.entities.values()) {
        const errors = new Map()
        plans.get(type.name)?.view(system).check('whole', sampleOf(type, model), errors)
        expect([type.name, ...errors]).toEqual([type.name])
        expect(Object.keys(sampleAnswer(type, model)).slice(0, 1)).toEqual(['id'])
      }
    })
  })

describe('the OpenAPI document', () => {
  const document: any = documentOf(example)

  test('has every code of the catalogue, under its own status', () => {
    expect(document.components.schemas.Error.properties.code.enum).toEqual(Object.keys(catalogue))
    const found = new Set<string>()
    for (const { operation } of operationsIn(document))
      for (const [status, response] of Object.entries<any>(operation.responses))
        for (const code of follow(document, response)['x-codes'] ?? []) {
          expect(`${code} ${status}`).toBe(`${code} ${catalogue[code as keyof typeof catalogue].status}`)
          found.add(code)
        }
    // A method that a path does not support is no operation.
    expect(found.add('method_not_allowed')).toEqual(new Set(Object.keys(catalogue)))
  })

  test('says who needs no token', () => {
    const open = operationsIn(document).filter(({ operation }) =>
      operation.security.some((way: object) => Object.keys(way).length === 0),
    )
    expect(open.map(({ operation }) => operation.operationId)).toEqual([
      'login',
      'loginByUsername',
      'makeFirstAdmin',
      'makePasskeyLoginOptions',
      'loginByPasskey',
      'forgotPassword',
      'resetPassword',
      'confirmEmail',
      'revertEmail',
      'verifyEmail',
      'sendVerification',
      'listProviders',
      'startProviderLogin',
      'finishProviderLogin',
      'exchangeCode',
      'may',
      'createUsers',
      'upsertUsers',
      'listCountries',
      'summariseCountries',
      'readCountries',
      'listRooms',
      'summariseRooms',
      'readRooms',
      'followChanges',
      'followLists',
      'batch',
      'getModel',
      'getHealth',
      'getDocument',
    ])
  })

  test('asks for all that a replacement needs, but for secrets', () => {
    expect(document.components.schemas.users_create.required).toEqual(['email', 'password', 'name'])
    expect(document.components.schemas.users_replace.required).toEqual(['email', 'name'])
    expect(document.components.schemas.users_patch.required).toBeUndefined()
  })

  test('tells a pattern that only RE2 can read in words', () => {
    const { properties } = (documentOf(resolve(awkward)) as any).components.schemas.orders_create_
    expect(properties.code).toEqual({
      type: 'string',
      description: 'Matches the RE2 pattern ^(?i)[[:alpha:]]{3}\\z',
    })
  })
})

describe('the routes', () => {
  test('of the server have names that no Entity type can have', () => {
    const words = new Set(endpoints.server.map(({ path }) => /^\/api\/([a-z_]+)/.exec(path)?.[1] ?? path))
    expect(words.size).toBeGreaterThan(5)
    expect([...words].filter((word) => entityNameProblem(word) === undefined)).toEqual([])
  })

  const folder = mkdtempSync(join(tmpdir(), 'takeback-openapi-'))
  let opened: App
  beforeAll(async () => {
    opened = await openApp(readConfig({ database: `sqlite:${folder}/test.db` }, {}), example)
  })
  afterAll(async () => {
    await opened.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('and the document are the same', () => {
    const served = routesOf(opened.context, endpoints).flatMap(({ path, methods }) =>
      Object.keys(methods).map((method) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
    )
    const documented = operationsIn(documentOf(example)).map(
      ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\/$/, '')}`,
    )
    expect(documented.sort()).toEqual(served.sort())
  })
})

onEveryStore('the answers', bookings, (server) => {
  const document: any = JSON.parse(JSON.stringify(documentOf(resolve(bookings))))
  const compile = compilerOf(document)

  /** Makes a call, and validates the answer against the document. */
  async function call(
    method: string,
    template: string,
    path = template,
    sent: TestRequest = {},
  ): Promise<any> {
    const received = await server.call(method, path, sent)
    const said = document.paths[template][method.toLowerCase()].responses[received.status]
    const what = `${method} ${path}: ${received.status} ${received.text}`
    expect(said, what).toBeDefined()
    const response = follow(document, said)
    const schema = response.content?.['application/json']?.schema
    if (schema === undefined) expect(received.text, what).toBe('')
    else {
      const at = said.$ref ?? pointerTo(template, method, received.status)
      expect(compile(`${at}/content/application~1json/schema`)(received.body), what).toEqual([])
    }
    const sometimes = [
      'Takeback-Operation',
      'Idempotent-Replay',
      'Retry-After',
      ...(Array.isArray(sent.body) ? ['ETag', 'Location'] : []),
    ]
    for (const header of Object.keys(response.headers))
      if (!sometimes.includes(header))
        expect([what, header, received.headers.has(header)]).toEqual([what, header, true])
    return received.body ?? received.status
  }

  function pointerTo(template: string, method: string, status: number): string {
    const path = encodeURIComponent(template.replaceAll('/', '~1'))
    return `#/paths/${path}/${method.toLowerCase()}/responses/${status}`
  }

  test('are as the document says', async () => {
    const [all, one] = ['/api/bookings/', '/api/bookings/{id}/']
    await call('GET', '/api/health')
    await call('GET', '/api/health/details')
    await call('GET', '/api/health/details', '/api/health/details', { token: null })
    await call('GET', '/api/openapi.json')
    await call('POST', '/api/auth/login', '/api/auth/login', { body: ADMIN, token: null })
    await call('POST', '/api/login', '/api/login', {
      body: { username: ADMIN.email, password: 'wrong' },
      token: null,
    })
    await call('GET', '/api/auth/me')
    await call('GET', '/api/auth/me', '/api/auth/me', { token: null })
    server.adminToken = (await call('POST', '/api/auth/refresh')).token
    const room = await call('POST', '/api/rooms/', '/api/rooms/', { body: { title: 'Blue', beds: 2 } })
    await call('POST', '/api/rooms/', '/api/rooms/', { body: { title: 'Blue', beds: 0 } })
    await call('POST', '/api/rooms/', '/api/rooms/', { raw: '[]' })
    const both = ['Red', 'Green'].map((title) => ({ title, beds: 1 }))
    expect((await call('POST', '/api/rooms/', '/api/rooms/', { body: both })).data).toHaveLength(2)
    await call('POST', '/api/rooms/', '/api/rooms/', { body: both })
    const parts = [
      { method: 'PATCH', path: `/api/rooms/${room.id}/`, body: { beds: 3 } },
      { method: 'DELETE', path: '/api/rooms/$0.id' },
      { method: 'DELETE', path: `/api/rooms/${room.id}?restore=1` },
    ]
    expect((await call('POST', '/api/batch/', '/api/batch/', { body: parts })).results).toHaveLength(3)
    await call('POST', '/api/batch/', '/api/batch/', { body: [{ method: 'DELETE', path: '/api/rooms/999' }] })
    const address = { city: 'Berlin', zip: '10115' }
    const body = { room: { id: room.id }, starts_at: '2026-12-31T15:00:00Z', address }
    const { id } = await call('POST', all, all, { body })
    await call('GET', all, `${all}?count=1&sort=-starts_at&room.id=${room.id}&fields=address.city`)
    await call('GET', all, `${all}?nothing=1`)
    await call('GET', one, `${all}${id}/?fields=id,address.zip`)
    await call('GET', one, `${all}${id}/`, { headers: { 'If-None-Match': '*' } })
    await call('PATCH', one, `${all}${id}/`, { body: { address: null } })
    await call('PUT', one, `${all}${id}/`, { body, headers: { 'If-Match': '"1"' } })
    await call('DELETE', '/api/rooms/{id}/', `/api/rooms/${room.id}/`)
    await call('DELETE', one, `${all}${id}/?purge=1`)
    expect((await call('DELETE', one, `${all}${id}/`)).deleted_at).toBeString()
    await call('GET', one, `${all}${id}/`)
    await call('GET', all, `${all}?trashed=only`)
    expect((await call('DELETE', one, `${all}${id}/?restore=1`)).deleted_at).toBeNull()
    await call('DELETE', one, `${all}${id}/`)
    expect(await call('DELETE', one, `${all}${id}/?purge=1`)).toBe(204)
  })
})
