import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Edge } from '../../src/declare/model.ts'
import { check } from '../../src/store/check/check.ts'
import { graph } from '../declarations.ts'
import { onEveryStore, operationOf, runs, type TestResponse, type TestServer } from '../harness.ts'
import { linksAstray } from '../links.ts'
import { edges, type ModelEntity, TYPES, type Type, World } from '../undo-world.ts'

/** A move is a few small numbers, so that a failing sequence can be shrunk. */
type Move =
  | {
      readonly kind: 'create'
      readonly type: Type
      readonly name: number
      readonly targets: readonly number[]
    }
  | { readonly kind: 'point'; readonly entity: number; readonly edge: number; readonly target: number }
  | { readonly kind: 'remove' | 'restore'; readonly entity: number }
  /** The same for every second or third Entity of a type, by a filter. */
  | { readonly kind: 'removeMany'; readonly entity: number; readonly nth: number }
  | {
      readonly kind: 'pointMany'
      readonly entity: number
      readonly nth: number
      readonly edge: number
      readonly target: number
    }
  /** How many operations ago: mostly the last one. `undoMany` takes that one and all since. */
  | { readonly kind: 'undo' | 'undoMany'; readonly ago: number }

const small = fc.nat({ max: 11 })
const large = fc.nat({ max: 99 })
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant('create' as const),
    type: fc.constantFrom<Type>('people', 'people', 'people', 'companies', 'papers'),
    name: fc.nat({ max: 30 }),
    targets: fc.array(large, { minLength: 6, maxLength: 6 }),
  }),
  fc.record({ kind: fc.constant('point' as const), entity: small, edge: small, target: large }),
  fc.record({ kind: fc.constant('remove' as const), entity: small }),
  fc.record({ kind: fc.constant('restore' as const), entity: small }),
  fc.record({ kind: fc.constant('removeMany' as const), entity: small, nth: fc.integer({ min: 2, max: 3 }) }),
  fc.record({
    kind: fc.constant('pointMany' as const),
    entity: small,
    nth: fc.integer({ min: 1, max: 3 }),
    edge: small,
    target: large,
  }),
  fc.record({ kind: fc.constant('undo' as const), ago: fc.oneof(fc.constant(0), fc.nat({ max: 4 })) }),
  fc.record({ kind: fc.constant('undoMany' as const), ago: fc.nat({ max: 4 }) }),
)

/** Returns a body that sets the targets of an edge. */
function bodyOf({ path, list }: Edge, targets: readonly number[]): Record<string, unknown> {
  const references = targets.map((id) => ({ id }))
  const value = list === undefined ? (references[0] ?? null) : references
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<
    string,
    unknown
  >
}

/** Picks targets by a number: none or one, or a few in some order. */
function choose(edge: Edge, from: readonly ModelEntity[], number: number): number[] {
  if (edge.list === undefined) {
    const one = from[number % (from.length + 1)]
    return one === undefined ? [] : [one.id]
  }
  if (from.length === 0) return []
  const start = Math.floor(number / 4)
  const step = 1 + (start % 3)
  const picked = Array.from(
    { length: number % 4 },
    (_, at) => from[(start + at * step) % from.length]?.id ?? 0,
  )
  return [...new Set(picked)]
}

/** Returns the operation of a call, and its time. */
async function written(server: TestServer, received: TestResponse): Promise<{ id: string; at: string }> {
  const id = operationOf(received)
  if (id === '') return { id, at: '' }
  return { id, at: (await server.expect(200, 'GET', `/api/operations/${id}/?limit=1`)).at }
}

async function perform(server: TestServer, world: World, one: Move): Promise<void> {
  if (one.kind === 'create') return world.record(() => create(server, world, one))
  if ('ago' in one) return undo(server, world, one)
  const entity = world.entities[one.entity % Math.max(1, world.entities.length)]
  if (entity === undefined) return
  if ('nth' in one) return performMany(server, world, entity, one)
  const path = `/api/${entity.type}/${entity.id}/`
  if (one.kind === 'point') {
    const edge = world.edgesOf(entity.type)[one.edge % world.edgesOf(entity.type).length]
    const candidates = world.entities.filter(({ type, deletion }) => type === edge?.to && deletion === null)
    if (edge === undefined) return
    const targets = choose(edge, candidates, one.target)
    const live = entity.deletion === null
    const point = async () => {
      const received = await server.call('PATCH', path, { body: bodyOf(edge, targets) })
      expect(received.status).toBe(live ? 200 : 404)
      if (live) entity.references[edge.path] = targets
      return written(server, received)
    }
    return world.record(point)
  }
  return world.record(async () => {
    const expected = one.kind === 'remove' ? world.remove(entity) : world.restore(entity)
    const received = await server.call('DELETE', one.kind === 'remove' ? path : `${path}?restore=1`)
    const { status, text } = received
    expect([one.kind, path, status, status === expected ? '' : text]).toEqual([one.kind, path, expected, ''])
    return written(server, received)
  })
}

/** Runs a write by a filter: a preview first, then exactly that. */
async function performMany(
  server: TestServer,
  world: World,
  first: ModelEntity,
  one: Extract<Move, { nth: number }>,
): Promise<void> {
  const ofType = world.entities.filter(({ type }) => type === first.type)
  const start = ofType.indexOf(first)
  const chosen = ofType.filter((_, at) => at % one.nth === start % one.nth)
  const edge = world.edgesOf(first.type)[
    one.kind === 'pointMany' ? one.edge % world.edgesOf(first.type).length : 0
  ]
  if (edge === undefined) return
  const candidates = world.entities.filter(({ type, deletion }) => type === edge.to && deletion === null)
  const targets = one.kind === 'pointMany' ? choose(edge, candidates, one.target) : []
  const adds = edge.list !== undefined && one.nth === 3
  const path = `/api/${first.type}/?filter=id in [${chosen.map(({ id }) => id)}]`
  const sent =
    one.kind === 'removeMany' ? {} : { body: adds ? addingBody(edge, targets) : bodyOf(edge, targets) }
  const method = one.kind === 'removeMany' ? 'DELETE' : 'PATCH'
  await world.record(async () => {
    const expected = one.kind === 'removeMany' ? world.remove(...chosen) : point(chosen, edge, targets, adds)
    const dry = await server.call(method, `${path}&dry_run=1`, sent)
    const plan = dry.body.plan === undefined ? '' : `&plan=${dry.body.plan}`
    const received = await server.call(method, path + plan, sent)
    const { status, text } = received
    expect([method, path, status, text]).toEqual([method, path, expected, text])
    expect([dry.status, operationOf(dry)]).toEqual([status, ''])
    if (status === 200) expect(shownIn(dry)).toEqual(shownIn(received))
    return written(server, received)
  })
}

function addingBody(edge: Edge, targets: readonly number[]): Record<string, unknown> {
  const $add = targets.map((id) => ({ id }))
  return edge.path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), { $add }) as Record<
    string,
    unknown
  >
}

/** Returns the expected status. Nothing changes if one of the lists would be too long. */
function point(
  chosen: readonly ModelEntity[],
  edge: Edge,
  targets: readonly number[],
  adds: boolean,
): number {
  const live = chosen.filter(({ deletion }) => deletion === null)
  const next = live.map(({ references }) =>
    adds ? [...new Set([...(references[edge.path] ?? []), ...targets])] : targets,
  )
  if (next.some(({ length }) => length > (edge.list?.max ?? length))) return 422
  for (const [at, entity] of live.entries()) entity.references[edge.path] = next[at] ?? []
  return 200
}

async function undo(
  server: TestServer,
  world: World,
  { kind, ago }: Extract<Move, { kind: 'undo' | 'undoMany' }>,
): Promise<void> {
  const operation = world.operations.at(-1 - ago)
  if (operation === undefined) return
  const many = kind === 'undoMany'
  const undone = many ? world.operations.filter(({ at }) => at >= operation.at) : [operation]
  await world.record(async () => {
    const expected = world.undo(undone.toReversed())
    const path = many ? '/api/operations/undo/' : `/api/operations/${operation.id}/undo/`
    const body = many ? { since: operation.at } : {}
    const dry = await server.call('POST', path, { body: { ...body, dry_run: true } })
    // Exactly what was previewed is done.
    const plan = dry.body.plan
    const received = await server.call('POST', path, { body: { ...body, ...(plan && { plan }) } })
    const { status, text } = received
    expect([path, status, text]).toEqual([path, expected.status, text])
    expect([dry.status, operationOf(dry)]).toEqual([status, ''])
    if (status === 200) expect(shownIn(dry)).toEqual(shownIn(received))
    expect(operationOf(received) !== '').toBe(expected.written)
    return written(server, received)
  })
}

/** Returns the changes of an answer, without times. */
function shownIn({ body }: TestResponse): unknown {
  return body.changes.map(({ changed: { deleted_at: _, ...changed }, ...rest }: any) => ({
    ...rest,
    changed,
  }))
}

async function create(
  server: TestServer,
  world: World,
  { type, name, targets }: Extract<Move, { kind: 'create' }>,
): Promise<{ id: string; at: string }> {
  const references: Record<string, readonly number[]> = {}
  let body: Record<string, unknown> = {
    [type === 'papers' ? 'title' : 'name']: `n${name}`,
    ...(type === 'papers' && { meta: {} }),
  }
  for (const [at, edge] of world.edgesOf(type).entries()) {
    const candidates = world.entities.filter((entity) => entity.type === edge.to && entity.deletion === null)
    references[edge.path] = choose(edge, candidates, targets[at] ?? 0)
    const { meta, ...more } = bodyOf(edge, references[edge.path] ?? [])
    body = { ...body, ...more, ...(meta !== undefined && { meta: { ...(body.meta as object), ...meta } }) }
  }
  const taken =
    type !== 'people' &&
    world.entities.some(
      (entity) => entity.type === type && entity.name === `n${name}` && entity.deletion === null,
    )
  const received = await server.call('POST', `/api/${type}/`, { body })
  expect(received.status).toBe(taken ? 422 : 201)
  if (!taken)
    world.entities.push({
      type,
      id: received.body.id,
      name: `n${name}`,
      references,
      deletion: null,
    })
  return written(server, received)
}

/** Returns the server's state of these Entities, in the terms of the model. */
async function stateOf(server: TestServer, world: World): Promise<unknown[]> {
  const lists = await Promise.all(
    TYPES.map((type) => server.expect(200, 'GET', `/api/${type}/?trashed=with&limit=200&sort=-id`)),
  )
  const rows = new Map(
    TYPES.flatMap((type, at) => lists[at].data.map((row: { id: number }) => [`${type}/${row.id}`, row])),
  )
  return world.entities.map(({ type, id }) => {
    const row = rows.get(`${type}/${id}`) as Record<string, any>
    const references = world.edgesOf(type).map(({ path }) => {
      const value = path.split('.').reduce((at, part) => at?.[part], row as any) ?? []
      return [value].flat().map(({ id }: { id: number }) => id)
    })
    return [`${type}/${id}`, row.deleted_at !== null, references]
  })
}

/** Finds references to rows that do not exist, which lists do not show. */
const dangling = edges
  .filter(({ list }) => list === undefined)
  .map(
    ({ from, column, to }) =>
      `SELECT '${from}.${column}' AS reference, f."id" FROM "${from}" f WHERE f."${column}" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "${to}" t WHERE t."id" = f."${column}")`,
  )
  .join(' UNION ALL ')

onEveryStore('random changes, deletions, restores and undos', graph, (server) => {
  test('do what a plain model of them does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 12, maxLength: 40 }), async (moves) => {
        // A failed sequence has left its rows.
        await forget(server)
        const world = new World()
        for (const one of moves) {
          await perform(server, world, one)
          const expected = world.entities.map(({ type, id, deletion, references }) => [
            `${type}/${id}`,
            deletion !== null,
            world.edgesOf(type).map(({ path }) => references[path] ?? []),
          ])
          expect(await stateOf(server, world)).toEqual(expected)
        }
        for (const { type, id } of world.entities) {
          const [row] = await server.query(
            'SELECT data FROM takeback_journal WHERE entity = $1 AND entity_id = $2 ORDER BY version DESC LIMIT 1',
            type,
            id,
          )
          const { data } = await server.expect(200, 'GET', `/api/${type}/?trashed=with&id=${id}`)
          const { deletion: _, ...entity } = data[0]
          expect(JSON.parse(String(row?.data))).toEqual(entity)
        }
        expect(await server.query(dangling)).toEqual([])
        expect(await linksAstray(server, graph)).toEqual([])
        expect((await check(await server.location())).findings).toEqual([])
      }),
      { numRuns: runs(40) },
    )
  }, 3_600_000)
})

/** Removes all rows, so that each run has its own names and lists. */
async function forget(server: TestServer): Promise<void> {
  for (const { from, column } of edges) await server.query(`UPDATE "${from}" SET "${column}" = NULL`)
  for (const table of TYPES) await server.query(`DELETE FROM "${table}"`)
  for (const about of ['takeback_journal', 'takeback_cleared'])
    await server.query(`DELETE FROM "${about}" WHERE "entity" <> 'admins'`)
}
