import { beforeAll, describe, expect, test } from 'bun:test'
import { entity, everyone, integer, json, list, object, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const some = { optional: true } as const

const fields = {
  title: text({ max: 5 }),
  code: text({ ...some, unique: true }),
  status: text({ default: 'open' }),
  owner: ref('users', some),
  size: integer({ ...some, max: 9 }),
  place: object({ city: text() }, some),
  tags: list(ref('users'), { default: [] }),
  extra: json(some),
}

/** Update rules that allow the owner, but never a stranger, whatever the request. */
const updates = {
  own: 'owner.id == me.id',
  given: 'owner.id == me.id && next.owner.id == me.id',
  moved: 'owner.id == me.id && (status == next.status || status == "open" && next.status == "held")',
  kept: '!(next.size > 5 || owner.id != me.id || owner == null)',
  among: 'me.id in tags && !(next.title in ["x"])',
  never: 'me.type == "staff"',
} as const

const declared = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { read: everyone } }),
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  ...Object.fromEntries(
    Object.entries(updates).flatMap(([name, update]) => [
      [name, entity({ fields, access: { read: everyone, history: everyone, update } })],
      [
        `hidden_${name}`,
        entity({ fields, access: { read: 'owner.id == me.id', history: signedIn, update } }),
      ],
    ]),
  ),
})

/** Requests that are wrong in different ways: in the body, in the database, in the parameters. */
const faulty: readonly (readonly [method: string, more: string, body: unknown])[] = [
  ['PATCH', '', { title: 'too long' }],
  ['PATCH', '', { title: null }],
  ['PATCH', '', { nothing: 1 }],
  ['PATCH', '', { id: 7 }],
  ['PATCH', '', { owner: { id: 'x' } }],
  ['PATCH', '', { owner: { id: 99_999 } }],
  ['PATCH', '', { tags: [{ id: 99_999 }] }],
  ['PATCH', '', { code: 'taken' }],
  ['PATCH', '', { place: {} }],
  ['PATCH', '', { size: 99, status: 'held' }],
  ['PATCH', '?nothing=1', { title: 'ok' }],
  ['PUT', '', {}],
  ['PUT', '', { title: 'ok', size: 1.5 }],
  ['PUT', '?expand=owner', { title: 'ok' }],
  ['POST', 'revert/', {}],
  ['POST', 'revert/', { version: 'x' }],
  ['POST', 'revert/', { version: 1, more: 1 }],
  ['POST', 'revert/', { version: 999 }],
  ['POST', 'revert/?nothing=1', { version: 1 }],
]

onEveryStore('the order of checks', declared, (server) => {
  let ann = { id: 0, token: '' }
  let bob = { id: 0, token: '' }

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com' })
    bob = await server.user('users', { email: 'bob@example.com' })
    for (const name of Object.keys(updates))
      for (const type of [name, `hidden_${name}`])
        await server.expect(201, 'POST', `/api/${type}/`, [
          { title: 'a', size: 1, owner: { id: ann.id }, tags: [{ id: ann.id }] },
          { title: 'b', code: 'taken', owner: { id: ann.id } },
          { title: 'c' },
        ])
  })

  describe.each(Object.keys(updates))('update: %s', (name) => {
    const statusOf = async (type: string, id: number, at: number, token: string | null) => {
      const [method, more, body] = faulty[at] ?? ['', '', {}]
      const { status } = await server.call(method, `/api/${type}/${id}/${more}`, { body, token })
      return status
    }

    test('whoever may not is told that, and nothing else', async () => {
      for (const [at, one] of faulty.entries()) {
        expect([one, await statusOf(name, 1, at, bob.token)]).toEqual([one, 403])
        expect([one, await statusOf(name, 3, at, ann.token)]).toEqual([one, 403])
        expect([one, await statusOf(name, 1, at, null)]).toEqual([one, 401])
      }
    })

    test('whoever may not even see it is told that there is nothing', async () => {
      for (const [at, one] of faulty.entries()) {
        expect([one, await statusOf(`hidden_${name}`, 1, at, bob.token)]).toEqual([
          one,
          name === 'never' ? 403 : 404,
        ])
        expect([one, await statusOf(name, 999, at, server.adminToken)]).toEqual([one, 404])
      }
    })

    test('whoever may is told what is wrong', async () => {
      for (const [at, one] of faulty.entries()) {
        // The rule forbids giving it away, no matter to whom.
        if (name === 'given' && JSON.stringify(one[2]).includes('"owner":{"id":99999')) continue
        expect([one, await statusOf(name, 1, at, name === 'never' ? server.adminToken : ann.token)]).toEqual([
          one,
          422,
        ])
      }
    })
  })
})
