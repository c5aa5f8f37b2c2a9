import { beforeAll, expect, test } from 'bun:test'
import { entity, everyone, integer, list, object, ref, text } from '../../src/takeback.ts'
import { compileCel } from '../cel-evaluate.ts'
import type { World } from '../cel-world.ts'
import { withAdmins } from '../declarations.ts'
import { isDeep, onEveryStore, sample } from '../harness.ts'

const some = { optional: true } as const

const postFields = {
  title: text(),
  blocked: list(ref('users'), { default: [], max: 100 }),
  maybe: list(ref('users'), some),
  lines: list(object({ by: text(some), count: integer(some) }), { default: [] }),
  author: ref('users', some),
}
const personFields = { name: text(some), friends: list(ref('users'), { default: [], max: 100 }) }

/** Quantifiers over references, in every possible place. */
const quantified = [
  'blocked.exists(b, b.id == me.id)',
  'blocked.all(b, b.id != me.id)',
  'blocked.exists(b, b.name == "ann")',
  'blocked.all(b, b.name == "ann")',
  'maybe.exists(b, b.id == me.id)',
  'maybe.all(b, b.name != me.name)',
  'author.friends.exists(f, f.id == me.id)',
  'author.friends.all(f, f.name == title)',
  'me.friends.exists(f, f.id == author.id)',
  'lines.exists(l, l.count > 3)',
  'lines.all(l, l.by == me.name)',
  'blocked.exists(b, b.friends.exists(f, f.id == me.id))',
  'blocked.all(b, b.friends.all(f, f.name == "ann"))',
  'blocked.exists(b, title == "y")',
]
/** Each quantifier as it is, negated, and combined with others. */
const conditions = quantified.flatMap((one) => [
  one,
  `!${one}`,
  `!!${one}`,
  `!(${one} && title != "x")`,
  `!(${one} || title == "x")`,
  `(${one} ? 1 : 2) == 2`,
  `${one} == false`,
])

/** The conditions that are tried as rules, each on its own type: every quantifier, and every form. */
const rules = sample([...conditions.entries()], 5)

const declared = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: personFields, access: { read: everyone } }),
  ...Object.fromEntries(
    rules.map(([at, read]) => [`posts_${at}`, entity({ fields: postFields, access: { read } })]),
  ),
  posts: entity({ fields: postFields, access: { read: everyone } }),
})

onEveryStore('quantifiers', declared, (server) => {
  const people: { id: number; token: string | null }[] = []

  beforeAll(async () => {
    for (const name of ['ann', 'bob', null])
      people.push(await server.user('users', { email: `${name}@example.com`, name }))
    const [ann, bob, cat] = people.map(({ id }) => ({ id }))
    await server.expect(200, 'PATCH', `/api/users/${ann?.id}/`, { friends: [bob, cat] })
    await server.expect(200, 'PATCH', `/api/users/${bob?.id}/`, { friends: [ann] })
    const posts = [
      { title: 'x' },
      { title: 'y', blocked: [ann], maybe: [], author: ann, lines: [{ by: 'ann', count: 5 }] },
      { title: 'x', blocked: [bob, cat], maybe: [cat], author: bob, lines: [{ by: null, count: 1 }] },
      { title: 'y', blocked: [cat], maybe: [ann, bob], author: cat, lines: [{ by: 'bob', count: null }] },
      { title: 'ann', blocked: [ann, bob, cat], lines: [{ by: 'ann', count: 1 }, {}] },
    ]
    for (const name of ['posts', ...rules.map(([at]) => `posts_${at}`)])
      await server.expect(201, 'POST', `/api/${name}/`, posts)
  })

  async function worldOf(id: number | null): Promise<World> {
    const { data } = await server.expect(200, 'GET', '/api/users/?limit=200')
    const find = (_: string, wanted: number) => data.find((one: { id: number }) => one.id === wanted)
    return {
      fieldsOf: (type) => (type === 'users' ? personFields : postFields),
      find,
      me: id === null ? null : { type: 'users', userType: 'user', entity: find('users', id) },
    }
  }

  const titled = (rows: readonly { id: number }[]) => rows.map(({ id }) => id)

  test('have three values in rules and in filters, for everybody and for nobody', async () => {
    const whole = (await server.expect(200, 'GET', '/api/posts/')).data
    for (const [turn, { id, token }] of [...people, { id: null, token: null }].entries()) {
      const world = await worldOf(id)
      for (const [at, condition] of conditions.entries()) {
        const holds = compileCel(condition)
        const expected = titled(
          whole.filter((row: { id: number }) => holds('posts', row as never, world) === true),
        )
        if (rules.some(([ruled]) => ruled === at)) {
          const ruled = await server.call('GET', `/api/posts_${at}/`, { token })
          const shown = ruled.status === 200 ? titled(ruled.body.data) : []
          expect([condition, id, ruled.status < 500, shown]).toEqual([condition, id, true, expected])
        }
        // Unless the run is deep, half of the callers try it as a filter.
        if (!isDeep && (at + turn) % 2 === 0) continue
        const asked = `/api/posts/?filter=${encodeURIComponent(condition)}`
        const found = await server.call('GET', asked, { token })
        // Without a user, there is no `me`.
        if (found.status === 422) expect(id).toBeNull()
        else expect([condition, id, titled(found.body.data)]).toEqual([condition, id, expected])
      }
    }
  })
})
