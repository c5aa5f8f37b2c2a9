import { expect, test } from 'bun:test'
import {
  app,
  choice,
  decimal,
  entity,
  everyone,
  integer,
  json,
  list,
  object,
  ref,
  secret,
  signedIn,
  text,
} from '../takeback.ts'
import { resolve } from './resolve.ts'

/** The problems of a declaration: its lines without the first. */
function problemsOf(declaration: unknown): string[] {
  try {
    resolve(declaration)
    return []
  } catch (error) {
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
  }
}

const inRooms = (fields: Record<string, unknown>, more = {}) => ({ entities: { rooms: { fields, ...more } } })

test('every mistake has its dot path and what would be right', () => {
  for (const [declaration, line] of [
    [undefined, "app: must be the file's default export, made by app({ entities: { … } })"],
    [{ entities: {} }, 'entities: must declare at least one Entity type'],
    [
      { entities: { Rooms: { fields: {} } } },
      'entities.Rooms: must be named with lower-case letters, digits and _, starting with a letter, at most 63 characters',
    ],
    [
      { entities: { auth: { fields: {} } } },
      'entities.auth: is a name that Takeback itself uses; choose another',
    ],
    [{ entities: { rooms: 5 } }, 'entities.rooms: must be made by entity({ … })'],
    [
      inRooms({ id: text() }),
      'entities.rooms.fields.id: is a name that every Entity already has; choose another',
    ],
    [
      inRooms({ 'a.b': text() }),
      'entities.rooms.fields.a.b: must be named with letters, digits and _, starting with a letter',
    ],
    [
      inRooms({ name: text(), Name: text() }),
      'entities.rooms.fields.Name: differs from name only in case; choose another',
    ],
    [
      inRooms({ a: 'text' }),
      'entities.rooms.fields.a: must be made by one of text(), integer(), ref() and so on',
    ],
    [inRooms({ a: { type: 'txt' } }), 'entities.rooms.fields.a: "txt" is not a type of field'],
    [
      inRooms({ a: text({ min: 5, max: 2 }) }),
      'entities.rooms.fields.a.min: must not be above max, which is 2',
    ],
    [inRooms({ a: text({ max: -1 }) }), 'entities.rooms.fields.a.max: must be a whole number from 0'],
    [inRooms({ a: integer({ default: 3, max: 2 }) }), 'entities.rooms.fields.a.default: must be at most 2'],
    [
      inRooms({ a: choice([]) }),
      'entities.rooms.fields.a.values: must be a list of one or more different texts',
    ],
    [
      inRooms({ a: decimal({ scale: 12 }) }),
      'entities.rooms.fields.a.scale: must be a whole number from 0 to 9',
    ],
    [
      inRooms({ a: decimal({ min: '1', max: '0.001' }) }),
      "entities.rooms.fields.a.max: must be a decimal as a string with at most 2 decimal places, such as '10.5'",
    ],
    [inRooms({ a: object({}) }), 'entities.rooms.fields.a: must have at least one field'],
    [
      inRooms({ a: object({ b: text({ pattern: '(' }) }) }),
      'entities.rooms.fields.a.b.pattern: is not a valid pattern: This group is not closed. (character 1)',
    ],
    [
      inRooms({ a: text({ pattern: '(?=x)' }) }),
      'entities.rooms.fields.a.pattern: is not a valid pattern: Look-ahead',
    ],
    [
      inRooms({ a: list(object({ o: object({ b: ref('rooms') }) })) }),
      'entities.rooms.fields.a.items.o.b: is a reference deeper inside an item of a list; put it directly into the object of the item, or declare a type for the link',
    ],
    [
      inRooms({ a: list(list(ref('rooms'))) }),
      'entities.rooms.fields.a.items.items: is a reference deeper inside an item of a list; put it directly into the object of the item, or declare a type for the link',
    ],
    [
      inRooms({ a: list(object({ b: list(ref('rooms')) })) }),
      'entities.rooms.fields.a.items.b.items: is a reference deeper inside an item of a list; put it directly into the object of the item, or declare a type for the link',
    ],
    [
      inRooms({ a: list(ref('rooms', { unique: true })) }),
      'entities.rooms.fields.a.items.unique: cannot be used for a list of references: a list has no duplicates, and several lists may have the same item',
    ],
    [
      inRooms({ a: { ...list(ref('rooms')), unique: true } }),
      'entities.rooms.fields.a.unique: cannot be used for a list of references: a list has no duplicates, and several lists may have the same item',
    ],
    [
      inRooms({ a: list(ref('rooms', { optional: true })) }),
      'entities.rooms.fields.a.items.optional: cannot be used for the items of a list: a missing item is simply not in the list',
    ],
    [
      inRooms({ a: list(ref('rooms', { was: 'b' })) }),
      'entities.rooms.fields.a.items.was: cannot be used in a list: its items are not renamed',
    ],
    [
      inRooms({ a: list(ref('room')) }),
      'entities.rooms.fields.a.items: refers to "room", which is not declared; did you mean "rooms"?',
    ],
    [
      inRooms({ a: list(ref('rooms'), { min: 2, max: 1 }) }),
      'entities.rooms.fields.a.min: must not be above max, which is 1',
    ],
    [
      inRooms({ a: list(ref('rooms'), { default: [{ id: 1 }] }) }),
      'entities.rooms.fields.a.default: must be [], since no Entities exist yet',
    ],
    [
      inRooms({ a: list(ref('rooms'), { min: 1, default: [] }) }),
      'entities.rooms.fields.a.default: must have at least 1 items',
    ],
    [
      inRooms({ a: list(ref('rooms'), { example: [{ id: 1 }, { id: 1 }] }) }),
      'entities.rooms.fields.a.example.1: is already in the list',
    ],
    [
      inRooms({ a: list(ref('rooms')) }, { unique: [['a']] }),
      'entities.rooms.unique.0: "a" has a type that cannot be unique',
    ],
    [
      inRooms({ a: list(secret()) }),
      'entities.rooms.fields.a.items: cannot be in a list; declare it outside',
    ],
    [
      inRooms({ a: ref('rooms', { onDelete: 'clear' }) }),
      "entities.rooms.fields.a.onDelete: is 'clear', which leaves the reference empty: add optional: true",
    ],
    [
      inRooms({ a: { type: 'ref', target: 'rooms', onDelete: 'explode' } }),
      "entities.rooms.fields.a.onDelete: must be 'restrict', 'cascade' or 'clear'",
    ],
    [
      inRooms({ a: integer({ search: true } as object) }),
      'entities.rooms.fields.a.search: is only possible for text, email, url and choice',
    ],
    [
      inRooms({ a: secret({ search: true } as object) }),
      'entities.rooms.fields.a.search: is only possible for text, email, url and choice',
    ],
    [inRooms({ a: text({ search: 1 } as object) }), 'entities.rooms.fields.a.search: must be true or false'],
    [
      inRooms({ a: list(text({ search: true })) }),
      'entities.rooms.fields.a.items.search: cannot be used in a list: only single texts are searched',
    ],
    [
      inRooms(Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`a${at}`, text({ search: true })]))),
      'entities.rooms.fields: have more than 16 with search; remove it from some',
    ],
    [inRooms({ a: text() }, { index: [['-b']] }), 'entities.rooms.index.0: "b" is not a value of this type'],
    [
      inRooms({ status: text() }, { index: [['-statsu']] }),
      'entities.rooms.index.0: "statsu" is not a value of this type; did you mean "status"?',
    ],
    [inRooms({ a: text() }, { index: ['a'] }), 'entities.rooms.index: must be a list of lists of dot paths'],
    [
      inRooms({ a: text() }, { index: [['deleted_at']] }),
      'entities.rooms.index.0: "deleted_at" is not a value',
    ],
    [
      inRooms({ a: text() }, { index: [['id']] }),
      'entities.rooms.index.0: is the order that every type has already; leave it out',
    ],
    [
      inRooms({ a: secret() }, { index: [['a']] }),
      'entities.rooms.index.0: "a" is of a type that cannot be indexed',
    ],
    [
      inRooms({ a: list(ref('rooms')) }, { index: [['a']] }),
      'entities.rooms.index.0: "a" is of a type that cannot be indexed',
    ],
    [
      inRooms({ a: json() }, { index: [['a']] }),
      'entities.rooms.index.0: "a" is of a type that cannot be indexed',
    ],
    [
      inRooms(
        { a: text() },
        {
          index: [
            ['a', '-created_at'],
            ['a', '-created_at', '-id'],
          ],
        },
      ),
      'entities.rooms.index.1: is a duplicate; remove it',
    ],
    [inRooms({ a: text() }, { index: [['a', '-a']] }), 'entities.rooms.index.0: is a duplicate; remove it'],
    [inRooms({ a: text() }, { unique: [['b']] }), 'entities.rooms.unique.0: "b" is not a value of this type'],
    [
      inRooms({ room: ref('rooms') }, { unique: [['room']] }),
      'entities.rooms.unique.0: "room" is not a value of this type',
    ],
    [
      inRooms({ a: secret() }, { unique: [['a']] }),
      'entities.rooms.unique.0: "a" has a type that cannot be unique',
    ],
    [
      inRooms({ a: text() }, { access: { raed: everyone } }),
      'entities.rooms.access.raed: is not an action; did you mean "read"?',
    ],
    [inRooms({ a: text() }, { acess: {} }), 'entities.rooms.acess: is not an option; did you mean "access"?'],
    [
      inRooms({ a: text({ write: 'me != null' }) }, { access: { create: everyone } }),
      'entities.rooms.fields.a.write: keeps whoever is not signed in from setting what is required, although they may create',
    ],
    [
      { ...inRooms({ a: text() }, { login: { userType: 'user' }, access: { read: 'me.type == "usr"' } }) },
      '"usr" is not a user type; did you mean "user"?',
    ],
    [
      inRooms({ a: text() }, { access: { read: 'a == 1' } }),
      'entities.rooms.access.read: must be a text, such as "abc" at column 6, in "a == 1"',
    ],
    [
      inRooms({ email: text() }, { login: { userType: 'user' } }),
      'entities.rooms.fields.email: is a name that login adds; choose another',
    ],
    [
      inRooms({ a: text() }, { login: { userType: 'A b' } }),
      "entities.rooms.login.userType: must be a lower-case word, such as 'user'",
    ],
    [
      inRooms({ a: text() }, { login: { userType: 'a', passwordMin: 3 } }),
      'entities.rooms.login.passwordMin: must be a whole number from 8 to 128',
    ],
    [
      { ...inRooms({ a: text() }), admins: 'rooms' },
      "admins: names rooms, which has no login; give it login: { userType: 'admin' }",
    ],
    [
      { ...inRooms({ a: text() }), trash: { keep: 'a while' } },
      "trash: must be how long to keep it, such as { keep: '30d' }",
    ],
    [
      inRooms({ a: text() }, { journal: '30d' }),
      "entities.rooms.journal: must be how long to keep it, such as { keep: '30d' }",
    ],
    [inRooms({ a: text({ was: 'b' }), b: text() }), 'is "b", which is also declared; remove one of them'],
    [inRooms({ a: text({ was: '1b' }) }), 'must be its old name'],
    [inRooms({ ['x'.repeat(70)]: text() }), 'which is longer than 60 characters; shorten it'],
  ] as const)
    expect(problemsOf(declaration).join('\n')).toContain(line)
})

test('two login types cannot have one user type', () => {
  const login = { userType: 'user' }
  expect(problemsOf({ entities: { a: { fields: {}, login }, b: { fields: {}, login } } })).toEqual([
    'entities.b.login.userType: is "user", the same as that of a; each needs its own',
  ])
})

test('what is right becomes a Model that nobody can change', () => {
  const model = resolve(
    app({
      admins: 'admins',
      entities: {
        admins: entity({ login: { userType: 'admin' }, fields: {} }),
        rooms: entity({
          fields: { title: text({ unique: true }) },
          access: { read: everyone, create: signedIn },
        }),
        bookings: entity({
          fields: {
            at: object(
              {
                room: ref('rooms', { onDelete: 'cascade' }),
                others: list(ref('rooms', { onDelete: 'clear' }), { min: 1 }),
              },
              { optional: true },
            ),
          },
        }),
      },
    }),
  )
  expect(model.edges).toEqual([
    {
      from: 'bookings',
      path: 'at.room',
      column: 'at.room.id',
      within: 'at',
      to: 'rooms',
      onDelete: 'cascade',
      list: undefined,
    },
    {
      from: 'bookings',
      path: 'at.others',
      column: 'at.others',
      within: 'at',
      to: 'rooms',
      onDelete: 'clear',
      list: { links: 'bookings.at.others', member: '', min: 1, max: undefined },
    },
  ])
  expect(model.logins.map(({ name }) => name)).toEqual(['admins'])
  expect(model.entities.get('rooms')?.uniques).toEqual([['title']])
  expect(Object.isFrozen(model)).toBe(true)
  expect(Object.isFrozen(model.entities.get('rooms')?.fields[0])).toBe(true)
})
