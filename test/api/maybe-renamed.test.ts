import { expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { brokenChecks } from '../../src/plan/condition/checks.ts'
import { tablesOf } from '../../src/plan/tables/schema.ts'
import { preview } from '../../src/store/migration/migrate.ts'
import { entity, integer, list, object, ref, text } from '../../src/takeback.ts'
import { things, withAdmins } from '../declarations.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'

const optional = { optional: true } as const
const LEAVES = 'is no longer declared: it leaves the API, but its data is kept'
const hint = (path: string, renamed: string, was: string) =>
  `${path} ${LEAVES}. If ${renamed} is its new name, write was: '${was}' there`
const of = things

/** What a plan says about removed fields and types. */
const cases: Record<string, [from: AppDeclaration, to: AppDeclaration, says: string[]]> = {
  'a field, and one of its kind is new': [
    of({ a: text(), note: text(optional) }),
    of({ a: text(), remark: text(optional) }),
    [hint('things.note', 'remark', 'note')],
  ],
  'a field of an object': [
    of({ o: object({ town: text(), zip: text() }, optional) }),
    of({ o: object({ city: text(), zip: text() }, optional), town: text(optional) }),
    [hint('things.o.town', 'city', 'town')],
  ],
  'a reference, and a list of references': [
    of({ next: ref('things', optional), all: list(ref('things'), optional) }),
    of({ after: ref('things', optional), every: list(ref('things'), optional) }),
    [hint('things.next', 'after', 'next'), hint('things.all', 'every', 'all')],
  ],
  'a field, and what is new has another kind': [
    of({ a: text(), note: text(optional) }),
    of({ a: text(), remark: integer(optional) }),
    [`things.note ${LEAVES}`],
  ],
  'a field, and two are new': [
    of({ a: text(), note: text(optional) }),
    of({ a: text(), remark: text(optional), words: text(optional) }),
    [`things.note ${LEAVES}`],
  ],
  'a type, and one like it is new': [
    withAdmins({ posts: entity({ fields: { title: text() } }) }),
    withAdmins({ articles: entity({ fields: { title: text(), more: text(optional) } }) }),
    [hint('posts', 'articles', 'posts')],
  ],
  'a type, and another one is new': [
    withAdmins({ posts: entity({ fields: { title: text() } }) }),
    withAdmins({ rooms: entity({ fields: { beds: integer() } }) }),
    [`posts ${LEAVES}`],
  ],
}

onEveryStoreByHand('what leaves a declaration', (store) => {
  for (const [what, [from, to, says]] of Object.entries(cases))
    test(`says how to write a rename: ${what}`, async () => {
      const server = new TestServer(store, from)
      await server.start()
      await server.stop()
      const opened = await server.openStore()
      const model = resolve(to)
      const { lines } = await preview(opened.structure, tablesOf(model), brokenChecks(model, opened.dialect))
      await opened.close()
      expect(
        lines.filter(({ effect }) => effect === 'aside').map((one) => `${one.path} ${one.what}`),
      ).toEqual(says)
      await server.remove()
    })

  test('says it also where the new name is refused, because it is required', async () => {
    const server = new TestServer(store, of({ note: text() }))
    await server.start()
    await server.expect(201, 'POST', '/api/things/', { note: 'x' })
    const refused = await server.restart(of({ remark: text() })).catch((error: Error) => error.message)
    expect(refused).toContain("If it was called note before, write was: 'note'")
    await server.restart(of({ remark: text({ was: 'note' }) }))
    expect(await server.expect(200, 'GET', '/api/things/1/')).toMatchObject({ remark: 'x' })
    await server.remove()
  })
})
