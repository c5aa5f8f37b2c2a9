import type { AppDeclaration, EntityDeclaration } from '../src/declare/define.ts'
import {
  app,
  boolean,
  choice,
  date,
  datetime,
  decimal,
  email,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  secret,
  signedIn,
  text,
  url,
} from '../src/takeback.ts'

/** The admins of most tests. */
const admins = entity({ login: { userType: 'admin' }, fields: {} })

/** Declares these Entity types, and admins before them. */
export function withAdmins<const E extends AppDeclaration['entities']>(
  entities: E,
  more: Pick<AppDeclaration, 'journal' | 'trash'> = {},
) {
  const all: AppDeclaration['entities'] = { admins, ...entities }
  // The type E is generic here: TypeScript checks names where it is known.
  return app({ admins: 'admins', entities: all, ...more }) as AppDeclaration<{ admins: typeof admins } & E>
}

const named = entity({ login: { userType: 'admin' }, fields: { name: text({ optional: true }) } })
const open = {
  create: signedIn,
  read: signedIn,
  update: signedIn,
  delete: signedIn,
  restore: signedIn,
} as const

/** Signed-in users may do everything except purge. */
export const forUsers = { ...open, history: signedIn } as const

/** One type, whose fields change from test to test. */
export function things(fields: EntityDeclaration['fields'], more: Partial<EntityDeclaration> = {}) {
  return withAdmins({ things: entity({ fields, ...more }) })
}

/** Users, with open sign-up. */
export const users = entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } })

/** Users that log in, and bookings with nested objects and references. */
export const bookings = app({
  admins: 'admins',
  entities: {
    admins: named,
    users: entity({
      login: { userType: 'user' },
      fields: { name: text({ max: 120, optional: true }) },
      access: { create: everyone },
    }),
    countries: entity({
      fields: { code: text({ min: 2, max: 2, unique: true }) },
      access: { read: everyone },
    }),
    rooms: entity({
      fields: { title: text({ min: 1, max: 200, unique: true }), beds: integer({ min: 1 }) },
      access: { read: everyone },
    }),
    bookings: entity({
      fields: {
        room: ref('rooms'),
        owner: ref('users', { optional: true, onDelete: 'cascade' }),
        starts_at: datetime(),
        guests: integer({ min: 1, max: 20, default: 1 }),
        status: choice(['open', 'held', 'paid'], { default: 'open' }),
        address: object(
          {
            city: text(),
            zip: text({ pattern: '^[0-9]{5}$' }),
            kind: choice(['home', 'work'], { default: 'home' }),
            country: ref('countries', { optional: true, onDelete: 'clear' }),
          },
          { optional: true },
        ),
      },
      unique: [['room.id', 'starts_at']],
      access: open,
    }),
    notes: entity({ fields: { text: text() } }),
    seats: entity({
      fields: { name: text(), country: ref('countries', { optional: true, onDelete: 'clear' }) },
      unique: [['name', 'country.id']],
    }),
  },
})

/** One field of every type, all optional except the name. */
export const everything = app({
  admins: 'admins',
  entities: {
    admins: named,
    things: entity({
      fields: {
        name: text(),
        short: text({ min: 2, max: 4, optional: true }),
        mail: email({ optional: true, unique: true }),
        site: url({ optional: true }),
        count: integer({ min: -5, max: 5, optional: true }),
        big: integer({ optional: true }),
        ratio: number({ min: 0, optional: true }),
        price: decimal({ min: '-10', max: '1000000', optional: true }),
        fine: decimal({ scale: 6, optional: true }),
        flag: boolean({ optional: true }),
        day: date({ optional: true }),
        instant: datetime({ optional: true }),
        colour: choice(['red', 'green'], { optional: true }),
        anything: json({ optional: true }),
        tags: list(text({ max: 5 }), { max: 3, optional: true }),
        lines: list(object({ price: decimal(), note: text({ default: 'none' }) }), { optional: true }),
        pin: secret({ optional: true }),
        inner: object(
          { deep: object({ word: text({ default: 'x' }) }), flag: boolean({ default: false }) },
          { optional: true },
        ),
        parent: ref('things', { optional: true, onDelete: 'cascade' }),
        others: list(ref('things', { onDelete: 'clear' }), { max: 3, optional: true }),
        chosen: list(ref('things'), { default: [] }),
        entries: list(object({ to: ref('things'), amount: integer({ default: 1 }) }), { default: [] }),
      },
    }),
  },
})

/** A graph of references with every kind of edge, a cycle and a self-reference. */
export const graph = app({
  admins: 'admins',
  entities: {
    admins: named,
    companies: entity({
      fields: { name: text({ unique: true }), lead: ref('people', { optional: true, onDelete: 'cascade' }) },
    }),
    people: entity({
      fields: {
        name: text(),
        company: ref('companies', { optional: true, onDelete: 'cascade' }),
        boss: ref('people', { optional: true, onDelete: 'clear' }),
        mentor: ref('people', { optional: true, onDelete: 'clear' }),
        twin: ref('people', { optional: true, onDelete: 'cascade' }),
        friends: list(ref('people', { onDelete: 'clear' }), { max: 3, default: [] }),
      },
    }),
    papers: entity({
      fields: {
        title: text({ unique: true }),
        author: ref('people', { optional: true, onDelete: 'cascade' }),
        meta: object({
          reviewer: ref('people', { optional: true, onDelete: 'clear' }),
          readers: list(ref('people', { onDelete: 'clear' }), { default: [] }),
        }),
        keeper: ref('people', { optional: true }),
        signers: list(ref('people', { onDelete: 'cascade' }), { default: [] }),
        sources: list(ref('papers'), { default: [] }),
      },
    }),
  },
})
