import {
  app,
  boolean,
  choice,
  datetime,
  decimal,
  entity,
  everyone,
  integer,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { forUsers } from '../declarations.ts'

/** The declaration for tests of the client. */
export const hotel = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', second: 'optional' },
      fields: { name: text({ optional: true }) },
      access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
    }),
    houses: entity({ fields: { name: text({ unique: true }), country: text() }, access: forUsers }),
    rooms: entity({
      fields: {
        title: text({ search: true }),
        house: ref('houses', { optional: true }),
        price: decimal({ default: '10.00' }),
        beds: integer({ min: 1, default: 1 }),
        size: object({ width: integer(), depth: integer({ optional: true }) }, { optional: true }),
        tags: list(text(), { default: [] }),
      },
      access: forUsers,
    }),
    bookings: entity({
      fields: {
        room: ref('rooms', { as: 'bookings' }),
        starts_at: datetime({ optional: true }),
        guests: integer({ min: 1, max: 20, default: 1 }),
        status: choice(['open', 'held', 'paid'], { default: 'open' }),
        secret_note: text({ optional: true, read: 'me.type == "admin"' }),
        paid: boolean({ default: false }),
      },
      access: forUsers,
    }),
    // Names that the client itself uses.
    entities: entity({ fields: { update: text() }, access: forUsers }),
  },
  routes: {
    'POST /api/checkout/:room/': {
      access: signedIn,
      body: object({ guests: integer({ default: 2 }), note: text() }),
      async run({ body, params, api }) {
        const made = await api.bookings.create({ room: { id: Number(params.room) }, guests: body.guests })
        return { booking: made.id, note: body.note }
      },
    },
    'GET /api/free-rooms/': { access: everyone, query: ['beds'], run: ({ query }) => ({ beds: query.beds }) },
  },
})
export type Hotel = typeof hotel
