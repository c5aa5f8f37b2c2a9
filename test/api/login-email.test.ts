import { expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { app, email, entity, everyone, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, type TestResponse } from '../harness.ts'

/** The same rules and values for the e-mail of the login and for an ordinary field. */
const declared = (rules: { read?: string; write?: string }) =>
  withAdmins({
    staff: entity({ login: { userType: 'staff' }, fields: {} }),
    users: entity({
      login: { userType: 'user', email: rules },
      fields: { name: text(), twin: email({ ...rules, unique: true }) },
      access: {
        create: everyone,
        read: signedIn,
        update: signedIn,
        history: signedIn,
        restore: signedIn,
        delete: signedIn,
      },
    }),
    notes: entity({
      fields: { text: text(), owner: ref('users') },
      access: { create: signedIn, read: signedIn },
    }),
  })

const own = declared({ read: 'id == me.id' })
const staffOnly = declared({ read: 'me.type == "staff"' })

/** All requests, with FIELD in place of the name of the field. */
const questions = [
  '/api/users/',
  '/api/users/?fields=id,FIELD',
  '/api/users/?sort=FIELD',
  '/api/users/?sort=-FIELD',
  '/api/users/?FIELD=bob@example.com',
  '/api/users/?FIELD=ann@example.com',
  '/api/users/?filter=FIELD == "bob@example.com"',
  '/api/users/?filter=FIELD != "bob@example.com"',
  '/api/users/?filter=FIELD.startsWith("b")',
  '/api/users/?filter=FIELD in ["bob@example.com", "ann@example.com"]',
  '/api/users/?filter=FIELD == null',
  '/api/users/?filter=!(FIELD == null)&count=1',
  '/api/users/summary/?group=FIELD',
  '/api/users/summary/?max=FIELD',
  '/api/users/1/',
  '/api/users/2/',
  '/api/users/2/?fields=FIELD',
  '/api/users/2/history/',
  '/api/users/1/history/',
  '/api/notes/?expand=owner',
  '/api/notes/?filter=owner.FIELD == "bob@example.com"',
  '/api/notes/?sort=owner.FIELD',
  '/api/notes/?owner.FIELD=bob@example.com',
  '/api/operations/',
]

for (const [name, declaration] of Object.entries({ 'of oneself': own, 'of staff': staffOnly }))
  onEveryStore(`the e-mail of a login, for the eyes ${name}`, declaration, (server) => {
    const tokens: Record<string, string | null> = { nobody: null }

    test('is hidden wherever a field with the same rule is', async () => {
      for (const name of ['ann', 'bob']) {
        const address = `${name}@example.com`
        const { id, token } = await server.user('users', { email: address, twin: address, name })
        tokens[name] = token
        await server.expect(201, 'POST', '/api/notes/', { text: `of ${name}`, owner: { id } })
      }
      tokens.staff = (await server.user('staff', { email: 'staff@example.com' })).token
      await server.expect(200, 'PATCH', '/api/users/2/', {
        email: 'bob.2@example.com',
        twin: 'bob.2@example.com',
      })
      await server.expect(200, 'PATCH', '/api/users/2/', {
        email: 'bob@example.com',
        twin: 'bob@example.com',
      })
      let hidden = 0
      let shown = 0
      for (const [who, token] of Object.entries(tokens))
        for (const question of questions) {
          const ask = (field: string) =>
            server.call('GET', encodeURI(question.replaceAll('FIELD', field)), { token })
          const [real, twin] = [await ask('email'), await ask('twin')]
          expect([who, question, ...sans(real)]).toEqual([who, question, ...sans(twin)])
          expect([who, question, odd(real.body)]).toEqual([who, question, []])
          const mayKnow = who === 'bob' || (who === 'staff' && name === 'of staff')
          const told = real.status === 200 && /bob[.2]*@example/.test(real.text)
          if (!mayKnow || (who === 'bob' && name === 'of staff')) {
            expect([who, question, told]).toEqual([who, question, false])
            hidden++
          } else if (told) shown++
        }
      expect(hidden).toBeGreaterThan(questions.length)
      expect(shown).toBeGreaterThan(5)
    })

    test('is not told by whom it is taken to those who do not see it', async () => {
      const body = {
        name: 'x',
        password: 'a long enough password',
        twin: 'bob@example.com',
        email: 'BOB@example.com',
      }
      const { status, body: answer } = await server.call('POST', '/api/users/', {
        body,
        token: tokens.ann ?? null,
      })
      expect([status, answer.errors]).toEqual([422, { email: ['is taken'], twin: ['is taken'] }])
      const seen = await server.call('POST', '/api/users/', { body })
      expect(seen.body.errors).toEqual({ email: ['is taken by users/2'], twin: ['is taken by users/2'] })
    })

    test('lets its owner log in all the same', async () => {
      const { status, body } = await server.call('POST', '/api/auth/login', {
        body: { email: 'ann@example.com', password: 'correct horse battery' },
        token: null,
      })
      expect([status, body.user.email]).toEqual([200, body.user.twin])
      const me = await server.expect(200, 'GET', '/api/auth/me', undefined, { token: body.token })
      expect(me).toEqual(body.user)
    })
  })

/** Removes from an answer what must differ: the name of the field, and the id of the request. */
function sans({ status, text }: TestResponse): [number, string] {
  return [
    status,
    text
      .replaceAll('email', 'FIELD')
      .replaceAll('twin', 'FIELD')
      .replaceAll(/"request_id":"[^"]*"/g, ''),
  ]
}

/** Finds objects in which one of the two fields is missing or different. */
function odd(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const { email, twin, name } = value as Record<string, unknown>
  const differs = name !== undefined && JSON.stringify(email) !== JSON.stringify(twin)
  return [...(differs ? [value] : []), ...Object.values(value).flatMap(odd)]
}

test('rules of the e-mail are checked as any others are, and named where they are declared', () => {
  const broken = (login: object) => () =>
    resolve(
      app({
        admins: 'users',
        entities: {
          users: entity({ login: { userType: 'user', ...login }, fields: {}, access: { create: everyone } }),
        },
      }),
    )
  expect(broken({ email: { read: 'nme == me.id' } })).toThrow('entities.users.login.email.read:')
  expect(broken({ email: { raed: 'id == me.id' } })).toThrow(
    'entities.users.login.email.raed: is not an option here',
  )
  expect(broken({ email: { read: 3 } })).toThrow('entities.users.login.email.read: must be everyone')
  expect(broken({ email: 'id == me.id' })).toThrow('entities.users.login.email: must be rules')
  expect(broken({ email: { write: 'me.type == "user"' } })).toThrow('entities.users.login.email.write: keeps')
  expect(broken({ email: { read: 'id == me.id' } })).not.toThrow()
})
