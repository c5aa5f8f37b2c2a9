import { beforeAll, describe, expect, test } from 'bun:test'
import { no } from '../../src/declare/cel/expression.ts'
import { walk } from '../../src/declare/model.ts'
import type { Actor } from '../../src/plan/viewer/actor.ts'
import { giant, onEveryStore, sample, sampleStart, type TestResponse, type TestServer } from '../harness.ts'
import {
  bodyOf,
  CANARY,
  CANARY_UNSENT,
  conditions,
  etcOf,
  expansions,
  figures,
  firstDifference,
  hiddenPaths,
  oracle,
  ownCanaries,
  parameters,
  thingsOf,
  unknownFor,
  yields,
} from '../oracle.ts'

onEveryStore('the oracle', oracle, (server) => {
  let ann = { id: 0, token: '' }
  let eve = { id: 0, token: '' }
  let sue = { id: 0, token: '' }
  const calls: (readonly [string, TestResponse])[] = []
  const start = sampleStart(server.store)

  const callers = (): [string, Actor, string | null][] => [
    ['a user', { kind: 'user', entity: 'users', id: eve.id, admin: false }, eve.token],
    ['nobody', { kind: 'nobody' }, null],
  ]

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com', zq_rank: 910_021, own_phone: 'CANARYphone' })
    eve = await server.user('users', { email: 'eve@example.com', zq_rank: 910_022 })
    sue = await server.user('staff', { email: 'sue@example.com' })
    await server.expect(200, 'PATCH', `/api/users/${ann.id}/`, { zq_boss: { id: eve.id } })
    await server.expect(201, 'POST', '/api/vaults/', { zq_code: 'CANARYvault' })
    for (const name of ['one', 'two'])
      await server.expect(201, 'POST', '/api/targets/', { name, vault: { id: 1 } })
    for (const thing of thingsOf(ann.id, eve.id)) await server.expect(201, 'POST', '/api/things/', thing)
    await server.expect(200, 'PATCH', '/api/vaults/1/', { zq_thing: { id: 1 } })
  })

  const get = (path: string, query: Record<string, string>, token: string | null) =>
    server.call('GET', `${path}?${new URLSearchParams(query)}`, { token })

  /** Asks about both paths and compares the answers; as many at once as the rate limit allows. */
  async function compare(
    pairs: readonly { readonly said: string; readonly ask: (path: string) => Promise<TestResponse> }[],
    path: string,
    unknown: string,
  ): Promise<void> {
    const [word, other] = firstDifference(path, unknown)
    for (let at = 0; at < pairs.length; at += 50)
      await Promise.all(
        pairs.slice(at, at + 50).map(async ({ said, ask }) => {
          const [one, two] = await Promise.all([ask(path), ask(unknown)])
          const told = (answer: TestResponse) => [said, path, answer.status, etcOf(answer), answer.text]
          const swapped = told(one).map((part) =>
            typeof part === 'string' ? part.replaceAll(word, other) : part,
          )
          expect(swapped).toEqual(told(two).map((part) => (part === path ? unknown : part)))
          expect(one.status).toBeOneOf([401, 403, 404, 422])
          expect(one.text).not.toMatch(CANARY_UNSENT)
        }),
      )
  }

  describe('of a hidden field', () => {
    for (const type of ['things', 'users', 'targets'])
      giant(
        `of ${type} answers as of one that is not there, to whatever is asked`,
        async () => {
          for (const [who, actor, token] of callers()) {
            const paths = hiddenPaths(server, type, actor)
            expect([who, paths.length]).toEqual([who, expect.any(Number)])
            expect(paths.length).toBeGreaterThan(2)
            for (const path of sample(paths, 30, start + (actor.kind === 'user' ? 0 : 2))) {
              const unknown = unknownFor(path, (one) => paths.includes(one))
              expect(unknown).not.toBe(path)
              const list = `/api/${type}/`
              await compare(
                [
                  ...conditions.map((condition, at) => ({
                    said: `filter ${at}`,
                    ask: (p: string) => get(list, { filter: condition(p) }, token),
                  })),
                  ...parameters.map((query, at) => ({
                    said: `list ${at}`,
                    ask: (p: string) => get(list, query(p), token),
                  })),
                  ...figures.map((query, at) => ({
                    said: `summary ${at}`,
                    ask: (p: string) => get(`${list}summary/`, query(p), token),
                  })),
                  ...['fields', 'expand'].map((name) => ({
                    said: `read by ${name}`,
                    ask: (p: string) => get(`${list}1/`, { [name]: p }, token),
                  })),
                  ...['target.things', 'owned', 'things'].map((to) => ({
                    said: `read with ${to}`,
                    ask: (p: string) => get(`${list}1/`, { expand: `${to}(filter=${p} == 3)` }, token),
                  })),
                  ...[{ fields: true }, { sort: true }, { filter: true }].map((name) => ({
                    said: 'the past',
                    ask: (p: string) =>
                      get(list, { [Object.keys(name)[0] ?? '']: p, at: new Date().toISOString() }, token),
                  })),
                ],
                path,
                unknown,
              )
            }
          }
        },
        120_000,
      )

    test('is refused in a body as one that is not there', async () => {
      for (const [, actor, token] of callers()) {
        const plan = server.context.plans.get('things')
        if (plan === undefined) throw new Error('things')
        const { type } = plan
        const { viewer } = plan.view(actor)
        const isHidden = (path: string) => viewer.mayField(type, path, 'read') === no
        const isSet = (path: string) => viewer.mayField(type, path, 'write') !== no
        const paths = [...walk(type.fields)]
          .map(({ path }) => path)
          .filter((path) => /zq_/.test(path) && isHidden(path) && !isSet(path))
          .concat('zq_made', 'zq_far')
        expect(paths.length).toBeGreaterThan(20)
        for (const path of sample(paths, 12, start)) {
          const unknown = unknownFor(path, (one) => paths.includes(one))
          const values = [null, 'CANARYtext', 910_001, true, [], {}, { id: 2 }, '2091-01-01']
          const bodies = values.map((value) => (p: string) => ({ ...bodyOf(p, value), amount: 'wrong' }))
          const body = (make: (p: string) => object, method: string, to: string) => ({
            said: `${method} ${to}`,
            ask: (p: string) => server.call(method, to, { token, body: make(p) }),
          })
          await compare(
            bodies.flatMap((make) => [
              body((p) => ({ title: 'x', ...make(p) }), 'POST', '/api/things/'),
              body((p) => [{ title: 'x', ...make(p) }], 'POST', '/api/things/'),
              body(make, 'PATCH', '/api/things/1/'),
              body((p) => ({ title: 'x', ...make(p) }), 'PUT', '/api/things/1/'),
              body(
                (p) => [{ method: 'PATCH', path: '/api/things/1/', body: make(p) }],
                'POST',
                '/api/batch/',
              ),
            ]),
            path,
            unknown,
          )
        }
      }
    })

    test('is never suggested in a hint', async () => {
      for (const [, actor, token] of callers())
        for (const path of sample(hiddenPaths(server, 'things', actor), 4, start)) {
          for (const typo of [`${path}s`, path.slice(0, -1), path.replace('zq', 'zp')]) {
            const { text: said } = await get('/api/things/', { filter: `${typo} == 3` }, token)
            expect(said.match(/did you mean \\"(.*?)\\"/)?.[1] ?? '').not.toMatch(/zq/)
          }
        }
    })
  })

  /** Makes a call, and stores its answer. */
  async function roam(token: string | null, path: string, sent: Parameters<TestServer['call']>[2] = {}) {
    const { method = 'GET', ...rest } = sent as { method?: string } & typeof sent
    const received = await server.call(method, path, { token, ...rest })
    calls.push([`${method} ${path}`, received])
    return received
  }

  describe('in everything that can be called', () => {
    const put = async (token: string | null, method: string, path: string, body?: unknown, headers = {}) =>
      roam(token, path, { method, headers, ...(body !== undefined && { body }) } as never)

    async function pages(token: string | null, path: string): Promise<void> {
      let cursor: string | null = ''
      for (let page = 0; cursor !== null && page < 10; page++) {
        const { body } = await roam(token, `${path}&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
        cursor = body?.next ?? null
      }
    }

    test('reads show nothing of it', async () => {
      const visible = ['id', 'title', 'amount', 'owner.id', 'target.name', 'vault.id', 'created_at']
      const mine = Object.keys(ownCanaries).filter((name) => !/json|list|lines|entries|object/.test(name))
      mine.push('own_made', 'own_words')
      for (const [, , token] of callers()) {
        for (const type of ['things', 'users', 'targets', 'vaults']) {
          for (const id of [1, 2, 3]) {
            const path = `/api/${type}/${id}/`
            await roam(token, path)
            await roam(token, `${path}?at=${new Date().toISOString()}`)
            await roam(token, `${path}history/`)
          }
          for (const query of [
            '',
            '?trashed=with',
            '?trashed=only',
            '?count=1',
            `?at=${new Date().toISOString()}`,
          ])
            await roam(token, `/api/${type}/${query}`)
        }
        for (const key of [...visible, ...mine])
          for (const sort of [key, `-${key}`]) await pages(token, `/api/things/?sort=${sort}`)
        for (const key of [...visible, ...mine]) await pages(token, `/api/things/summary/?group=${key}`)
        for (const key of mine)
          for (const figure of ['sum', 'avg', 'min', 'max'])
            await roam(token, `/api/things/summary/?${figure}=${key}`)
        for (const expand of expansions) await roam(token, `/api/things/?expand=${expand}`)
        for (const type of ['targets', 'users'])
          await roam(token, `/api/${type}/?expand=things,own_referred,own_linked`)
        for (const words of ['CANARYtext', 'CANARYown', 'canary', 'hers'])
          await roam(token, `/api/things/?search=${words}`)
        for (const path of ['auth/me', 'operations/']) await roam(token, `/api/${path}`)
      }
      await put(null, 'POST', '/api/auth/login', {
        email: 'eve@example.com',
        password: 'correct horse battery',
      })
    })

    test('what depends on the Entity does not tell two of others apart', async () => {
      const paths = [
        ...[...walk(server.context.model.entities.get('things')?.fields ?? [])].map(({ path }) => path),
        ...['own_ref.name', 'own_ref.vault.id', 'own_ref.id', 'own_links.id', 'own_object.inner.id'],
      ].filter((path) => path.startsWith('own_'))
      paths.push('own_made', 'own_words')
      const told: Record<string, number> = { ann: 0, eve: 0 }
      // The first two Entities differ only in hidden values.
      const among = ({ status, body }: TestResponse) =>
        status === 200 ? body.data.map((one: { id: number }) => one.id).filter((id: number) => id < 3) : []
      for (const [who, token] of Object.entries({ ann: ann.token, eve: eve.token }))
        for (const path of sample(paths, 12, start))
          for (const at of ['', new Date().toISOString()]) {
            const past = at === '' ? {} : { at }
            const ask = async (query: Record<string, string>, to = '/api/things/') => {
              const received = await get(to, { ...query, ...past }, token)
              expect([path, query, [200, 422].includes(received.status)]).toEqual([path, query, true])
              return received
            }
            const filters = [...conditions, ...yields].map((condition) => ({ filter: condition(path) }))
            const equal = ['null', 'true', '910011', '910012.5', '910013.25', 'CANARYown', 'two', '2']
            const found = await Promise.all(
              [...filters, ...equal.map((value) => ({ [path]: value }))].map(async (query) => ({
                query,
                ids: among(await ask(query)),
              })),
            )
            for (const { query, ids } of found) {
              if (ids.length === 1) told[who] = (told[who] ?? 0) + 1
              if (who === 'eve') expect([query, past, ids.length !== 1]).toEqual([query, past, true])
            }
            // The same for Entities that belong to ann, in an expansion.
            const owned = async (options: string) => {
              const { status, body } = await get(
                `/api/users/${ann.id}/`,
                { expand: `owned(${options})` },
                token,
              )
              return among({ status, body: body.owned } as TestResponse)
            }
            for (const condition of at === '' ? yields : []) {
              const ids = await owned(`filter=${condition(path)};sort=${path};fields=id`)
              if (ids.length === 1) told[who] = (told[who] ?? 0) + 1
              if (who === 'eve') expect([condition(path), ids.length !== 1]).toEqual([condition(path), true])
            }
            if (who !== 'eve') continue
            const orders = `${await owned(`sort=${path}`)} ${await owned(`sort=-${path}`)}`
            expect([path, orders.replace('1,2 2,1', ' ')]).toEqual([path, ' '])
            const up = among(await ask({ sort: path }))
            const down = among(await ask({ sort: `-${path}` }))
            expect([path, `${up} ${down}`.replace('1,2 2,1', ' ')]).toEqual([path, ' '])
            for (const group of [path, `month(${path})`, `hour(${path},"Asia/Tokyo")`]) {
              const groups = await ask({ filter: 'id < 3', group }, '/api/things/summary/')
              if (groups.status === 200) expect([group, groups.body.data.length]).toEqual([group, 1])
            }
            for (const name of ['sum', 'avg', 'min', 'max', 'distinct']) {
              const { status, body } = await ask({ filter: 'id < 3', [name]: path }, '/api/things/summary/')
              const none = name === 'distinct' ? 0 : null
              if (status === 200) expect(body.data).toEqual([{ [name]: { [path]: none } }])
            }
            const ranks = { group: 'id', max: path, filter: 'id < 3', sort: `-max(${path}),-id` }
            const ranked = await ask(ranks, '/api/things/summary/')
            if (ranked.status === 200)
              expect([path, ranked.body.data.map(({ group }: any) => group.id)]).toEqual([path, [2, 1]])
          }
      const expand = { expand: 'own_referred,own_linked,things' }
      const { body } = await get('/api/targets/', expand, eve.token)
      const theirs = body.data.map((one: any) => [one.own_referred.data, one.own_linked.data])
      expect(theirs).toEqual(body.data.map(() => [[], []]))
      // Without a user, these can never be read.
      expect((await get('/api/targets/', expand, null)).status).toBe(422)
      expect(told.ann).toBeGreaterThan(30)
      expect(told.eve).toBe(0)
    })

    test('a search does not look into it', async () => {
      for (const [, , token] of callers())
        for (const words of ['CANARYtext', 'CANARYown', 'canary', 'seen']) {
          const { body } = await roam(token, `/api/things/?search=${words}&count=1`)
          expect([words, body.total]).toEqual([words, 0])
        }
      expect(
        (await server.call('GET', '/api/things/?search=canary', { token: sue.token })).body.data,
      ).toHaveLength(1)
    })

    test('writes, their past and their taking back show nothing of it', async () => {
      const { token } = eve
      const key = { 'Idempotency-Key': 'again' }
      const body = { title: 'made', zq_always: { inner: 1 }, owner: { id: eve.id } }
      const made = await put(token, 'POST', '/api/things/', body, key)
      expect(made.status).toBe(201)
      await put(token, 'POST', '/api/things/', body, key)
      await put(token, 'POST', '/api/things/', [
        { ...body, title: 'a' },
        { ...body, title: 'b' },
      ])
      // Her own Entity: hidden values stay, whatever she does.
      const path = '/api/things/1/'
      const operations: string[] = []
      const act = async (method: string, to: string, sent?: unknown) => {
        const received = await put(token, method, to, sent)
        expect([method, to, received.status]).toEqual([method, to, 200])
        operations.push(received.headers.get('takeback-operation') ?? '')
        return received
      }
      await act('PATCH', path, { amount: 5 })
      await act('PUT', path, { title: 'hers', amount: 6, owner: { id: ann.id }, place: { city: 'Basel' } })
      const [kept] = await server.query(
        'SELECT "zq_text", "zq_integer", "place.zq_zip" FROM "things" WHERE "id" = 1',
      )
      expect(kept).toEqual({ zq_text: 'CANARYtext', zq_integer: 910_001, 'place.zq_zip': 'CANARYzip' })
      await act('POST', `${path}revert/`, { version: 1 })
      await act('DELETE', path)
      await act('DELETE', `${path}?restore=1`)
      await act('POST', '/api/batch/', [
        { method: 'PATCH', path, body: { amount: 8 } },
        { method: 'POST', path: '/api/things/', body: { title: 'in a batch', zq_always: {} } },
      ])
      for (const operation of operations) {
        await roam(token, `/api/operations/${operation}/`)
        for (const query of ['?dry_run=1', '?dry_run=1&skip_conflicts=1'])
          await put(token, 'POST', `/api/operations/${operation}/undo/${query}`)
      }
      // Changes of hidden values cause no conflict for her, and are not shown to her.
      await server.expect(200, 'PATCH', path, { zq_text: 'CANARYnew', own_text: 'CANARYnewer' })
      await put(token, 'POST', `/api/operations/${operations.at(-1)}/undo/`)
      await put(token, 'POST', `/api/operations/${operations.at(-1)}/undo/?skip_conflicts=1`)
      await roam(token, `${path}history/`)
      // Conflicts: a taken value, a referenced Entity, a deleted Entity.
      await put(token, 'POST', '/api/things/', { title: 'hers', zq_always: {} })
      await put(token, 'DELETE', '/api/targets/2/')
      await put(token, 'DELETE', '/api/targets/2/?restore=1')
      await put(token, 'DELETE', '/api/vaults/1/')
      await put(token, 'DELETE', '/api/users/1/')
      const gone = await put(token, 'DELETE', '/api/things/1/')
      await server.call('POST', '/api/things/', {
        body: { title: 'other', zq_always: {}, zq_text: 'CANARYnew' },
      })
      await put(token, 'DELETE', '/api/things/1/?restore=1')
      await put(token, 'POST', `/api/operations/${gone.headers.get('takeback-operation')}/undo/`)
      await roam(token, '/api/things/?trashed=only')
      await put(token, 'DELETE', '/api/things/1/?purge=1')
      await roam(token, '/api/operations/')
    })

    test('no answer has any of it, nor a cursor', () => {
      expect(calls.length).toBeGreaterThan(300)
      for (const [call, { status, text: body, headers }] of calls) {
        expect([call, status]).toEqual([call, expect.any(Number)])
        expect([call, status >= 500]).toEqual([call, false])
        const opened = [...body.matchAll(/"next":"(~?)([^"]+)"/g)].map(([, mark, cursor = '']) =>
          Buffer.from(cursor, mark === '~' ? 'hex' : 'base64url').toString(),
        )
        const whole = [body, ...opened, JSON.stringify([...headers])].join('\n')
        expect([call, whole.match(CANARY)?.[0]]).toEqual([call, undefined])
        // A token may contain any letters by chance. A cursor is checked in its decoded form.
        const plain = body.replaceAll(/"(errors|message)":.*|"(token|next)":"[^"]*"/g, '')
        expect([call, [plain, ...opened].join('\n').match(/zq_\w+/)?.[0]]).toEqual([call, undefined])
      }
    })
  })
})
