import { expect, test } from 'bun:test'
import {
  boolean,
  choice,
  date,
  decimal,
  entity,
  integer,
  json,
  list,
  number,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { users, withAdmins } from '../declarations.ts'
import { onEveryStore, sample, sampleStart } from '../harness.ts'

/** A field of each kind that callers may set but not see. */
const fields = (rule: { readonly read: string }) => {
  const hidden = { optional: true, write: signedIn, ...rule } as const
  return {
    word: text(hidden),
    count: integer(hidden),
    ratio: number(hidden),
    price: decimal(hidden),
    day: date(hidden),
    kind: choice(['a', 'b'], hidden),
    flag: boolean(hidden),
    to: ref('tags', { as: `to_${rule.read.length}`, ...hidden }),
    box: object({ a: text({ optional: true }) }, hidden),
    extra: json(hidden),
    words: list(text(), { default: [], write: signedIn, ...rule }),
    tags: list(ref('tags', { as: `tags_${rule.read.length}` }), { default: [], write: signedIn, ...rule }),
  }
}

const access = { create: signedIn, read: signedIn, update: signedIn, delete: signedIn, history: signedIn }
const own = { code: text({ unique: true }), owner: ref('users'), title: text() }
const declared = withAdmins({
  users,
  tags: entity({ fields: { name: text() }, access }),
  // Hidden always, or only in Entities of others.
  never: entity({ fields: { ...own, ...fields({ read: 'me.type == "admin"' }) }, access }),
  others: entity({ fields: { ...own, ...fields({ read: 'owner.id == me.id' }) }, access }),
})

const here = {
  word: 'a',
  count: 1,
  ratio: 1.5,
  price: '1.00',
  day: '2026-01-01',
  kind: 'a',
  flag: true,
  to: { id: 1 },
  box: { a: 'a' },
  extra: { a: 1 },
  words: ['a'],
  tags: [{ id: 1 }],
}
const elsewhere: typeof here = {
  word: 'b',
  count: 2,
  ratio: 2.5,
  price: '2.00',
  day: '2026-01-02',
  kind: 'b',
  flag: false,
  to: { id: 2 },
  box: { a: 'b' },
  extra: { a: 2 },
  words: ['b'],
  tags: [{ id: 2 }],
}

onEveryStore('guesses of hidden values', declared, (server) => {
  test.each(['never', 'others'])(
    'no write tells whether a value is the one that is sent: %s',
    async (type) => {
      const ann = await server.user('users', { email: `ann-${type}@example.com` })
      const { token } = await server.user('users', { email: `ben-${type}@example.com` })
      for (const name of ['one', 'two']) await server.expect(201, 'POST', '/api/tags/', { name })
      const owner = { id: ann.id }
      const whole = { code: 'a', owner, title: 'a' }
      const made = await server.expect(201, 'POST', `/api/${type}/`, { ...whole, ...here })
      const path = `/api/${type}/${made.id}/`
      await server.expect(200, 'PATCH', path, { title: 'b' })
      const told = async (method: string, to: string, body: unknown) => {
        const { status, body: answer } = await server.call(method, to, { token, body })
        return { status, ...answer, plan: null }
      }
      const ways = (body: object): readonly (readonly [string, string, unknown])[] => [
        ['PATCH', `${path}?dry_run=1`, body],
        ['PATCH', `${path}?dry_run=1&base=1`, body],
        ['PATCH', `/api/${type}/?filter=true&dry_run=1`, body],
        ['PATCH', `/api/${type}/?filter=true&dry_run=1`, { ...body, title: 'b' }],
        ['PUT', `${path}?dry_run=1`, { ...whole, ...body }],
        ['PUT', `/api/${type}/?match=code&dry_run=1`, { ...whole, ...body }],
        ['PUT', `/api/${type}/?match=code&dry_run=1`, [{ ...whole, ...body }]],
        ['POST', '/api/batch/?dry_run=1', [{ method: 'PATCH', path, body }]],
        ['POST', '/api/may/', { action: 'update', path, body }],
      ]
      const names = Object.keys(here) as (keyof typeof here)[]
      for (const name of sample(names, 3, sampleStart(server.store))) {
        const [right, wrong] = [ways({ [name]: here[name] }), ways({ [name]: elsewhere[name] })]
        for (const [at, [method, to, body]] of right.entries()) {
          const [, , other] = wrong[at] ?? []
          expect([name, method, to, await told(method, to, body)]).toEqual([
            name,
            method,
            to,
            await told(method, to, other),
          ])
        }
      }
    },
  )
})
