import { afterAll, expect, test } from 'bun:test'
import type { AppDeclaration, Fields } from '../../src/declare/define.ts'
import { dropAside, findAside } from '../../src/store/migration/drop.ts'
import { entity, integer, object, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'

const things = (fields: Fields, name = 'things', more = {}): AppDeclaration =>
  withAdmins({ [name]: entity({ fields, ...more }) })

onEveryStoreByHand('search that is declared later', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))
  async function started(declaration: AppDeclaration, rows: object[] = []): Promise<TestServer> {
    const server = new TestServer(store, declaration)
    servers.push(server)
    await server.start()
    for (const body of rows) await server.expect(201, 'POST', '/api/things/', body)
    return server
  }
  const ids = async (server: TestServer, words: string, name = 'things') =>
    (await server.expect(200, 'GET', `/api/${name}/?search=${encodeURIComponent(words)}&sort=id`)).data.map(
      ({ id }: { id: number }) => id,
    )
  const left = async (server: TestServer) =>
    store === 'sqlite'
      ? server.query(
          "SELECT name FROM sqlite_schema WHERE name LIKE '%:search%' UNION SELECT name FROM pragma_table_info('things') WHERE name LIKE '%~'",
        )
      : server.query(
          "SELECT indexname FROM pg_indexes WHERE indexname LIKE '%:search' UNION SELECT column_name FROM information_schema.columns WHERE column_name LIKE '%~'",
        )

  test('finds what is there already, the deleted too', async () => {
    const server = await started(things({ a: text(), b: text({ optional: true }) }), [
      { a: 'red apple', b: 'green' },
      { a: 'blue apple' },
      { a: 'red cherry' },
    ])
    await server.expect(200, 'DELETE', '/api/things/3/')
    await server.restart(things({ a: text({ search: true }), b: text({ optional: true }) }))
    expect([await ids(server, 'apple'), await ids(server, 'red'), await ids(server, 'green')]).toEqual([
      [1, 2],
      [1],
      [],
    ])
    await server.expect(200, 'DELETE', '/api/things/3/?restore=1')
    expect(await ids(server, 'red')).toEqual([1, 3])
    await server.restart(things({ a: text({ search: true }), b: text({ optional: true, search: true }) }))
    expect(await ids(server, 'green app')).toEqual([1])
    await server.restart(things({ a: text(), b: text({ optional: true, search: true }) }))
    expect([await ids(server, 'apple'), await ids(server, 'green')]).toEqual([[], [1]])
    await server.expect(200, 'PATCH', '/api/things/1/', { a: 'yellow' })
    await server.restart(things({ a: text() }))
    expect(await left(server)).toEqual([])
    await server.restart(things({ a: text({ search: true }), b: text({ optional: true, search: true }) }))
    expect([await ids(server, 'apple'), await ids(server, 'yellow green')]).toEqual([[2], [1]])
  })

  test('a default that fills what is there is found', async () => {
    const server = await started(things({ a: text({ search: true }) }), [{ a: 'x' }])
    const searched = { default: 'filled in', search: true } as const
    await server.restart(things({ a: text({ search: true }), c: text(searched) }))
    expect(await ids(server, 'x filled')).toEqual([1])
    await server.restart(things({ a: text({ search: true }), d: text({ optional: true, search: true }) }))
    await server.restart(things({ a: text({ search: true }), d: text(searched) }))
    expect(await ids(server, 'x filled')).toEqual([1])
    await server.expect(201, 'POST', '/api/things/', { a: 'y' })
    expect(await ids(server, 'filled')).toEqual([1, 2])
  })

  test('a field that is renamed and searched at once is found', async () => {
    const server = await started(things({ a: text() }), [{ a: 'old name' }])
    await server.restart(things({ b: text({ was: 'a', search: true }) }, 'stuff', { was: 'things' }))
    expect(await ids(server, 'name old', 'stuff')).toEqual([1])
    await server.restart(things({ other: text({ optional: true }) }, 'others'))
    await server.restart(things({ b: text({ search: true }) }, 'stuff'))
    expect(await ids(server, 'name old', 'stuff')).toEqual([1])
  })

  test('what is refused among others leaves no words', async () => {
    const server = await started(things({ a: text({ search: true, unique: true }) }))
    const sent = Array.from({ length: 60 }, (_, at) =>
      server.call('POST', '/api/things/', { body: { a: `twin ${at % 20}` } }),
    )
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect([
      statuses.filter((one) => one === 201).length,
      statuses.filter((one) => one === 422).length,
    ]).toEqual([20, 40])
    expect((await server.expect(200, 'GET', '/api/things/?search=twin&count=1')).total).toBe(20)
    if (store === 'sqlite')
      await server.query(
        `INSERT INTO "things:a~:search" ("things:a~:search", rank) VALUES ('integrity-check', 1)`,
      )
  })

  test('goes on while other fields are converted and dropped', async () => {
    const searched = { a: text({ search: true }) }
    const server = await started(things({ ...searched, n: integer(), gone: text() }), [
      { a: 'one', n: 1, gone: 'x' },
    ])
    await server.restart(things({ ...searched, n: text() }))
    const opened = await server.openStore()
    await dropAside(opened.structure, await findAside(opened.structure, ['things.gone']))
    await opened.close()
    await server.restart()
    await server.expect(200, 'PATCH', '/api/things/1/', { a: 'two' })
    expect([await ids(server, 'one'), await ids(server, 'two')]).toEqual([[], [1]])
    await server.restart(things({ n: text() }, 'others'))
    const again = await server.openStore()
    await dropAside(again.structure, await findAside(again.structure, ['things.a']))
    await again.close()
    expect(await left(server)).toEqual([])
  })

  test('numbers that become texts are found', async () => {
    const server = await started(things({ a: integer() }), [{ a: 4711 }, { a: 815 }])
    await server.restart(things({ a: text({ search: true }) }))
    expect(await ids(server, '47')).toEqual([1])
  })

  test('goes along when its type or its field is renamed, and is dropped with what is dropped', async () => {
    const server = await started(
      things({
        a: text({ search: true }),
        o: object({ b: text({ search: true }) }),
        rest: text({ optional: true }),
      }),
      [{ a: 'one', o: { b: 'two' } }],
    )
    const renamed = {
      x: text({ search: true, was: 'a' }),
      p: object({ b: text({ search: true }) }, { was: 'o' }),
      rest: text({ optional: true }),
    }
    await server.restart(things(renamed))
    expect(await ids(server, 'two one')).toEqual([1])
    await server.restart(things(renamed, 'stuff', { was: 'things' }))
    expect(await ids(server, 'two one', 'stuff')).toEqual([1])
    await server.expect(200, 'PATCH', '/api/stuff/1/', { x: 'three' })
    await server.expect(201, 'POST', '/api/stuff/', { x: 'three', p: { b: 'four' } })
    expect([await ids(server, 'one', 'stuff'), await ids(server, 'three', 'stuff')]).toEqual([[], [1, 2]])
    await server.restart(
      things({ y: text({ was: 'x' }), p: object({ c: text({ search: true, was: 'b' }) }) }, 'goods', {
        was: 'stuff',
      }),
    )
    expect([await ids(server, 'four', 'goods'), await ids(server, 'three', 'goods')]).toEqual([[2], []])
    await server.restart(things({ z: text({ optional: true }) }, 'others'))
    const opened = await server.openStore()
    await dropAside(opened.structure, await findAside(opened.structure, ['goods']))
    await opened.close()
    expect(await left(server)).toEqual([])
  })
})
