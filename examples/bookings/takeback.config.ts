// Rooms, and bookings of them by users. `npm start` in the project's folder serves this file.
import { app, choice, datetime, decimal, entity, everyone, integer, object, ref, text } from 'takeback'

export default app({
  admins: 'admins', // members of this login type pass every rule

  entities: {
    admins: entity({
      login: { userType: 'admin' }, // adds email (unique) and password (secret)
      fields: { name: text({ optional: true }) },
    }),

    users: entity({
      login: { userType: 'user' },
      fields: { name: text({ max: 120 }) },
      // Anybody may sign up; users see and change only themselves. Rules are conditions in CEL, and `me` is the caller.
      access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
    }),

    countries: entity({
      fields: { code: text({ min: 2, max: 2, unique: true, example: 'DE' }) },
      access: { read: everyone },
    }),

    rooms: entity({
      fields: {
        title: text({ min: 1, max: 200, unique: true, search: true, example: 'Room with a view' }), // ?search=view
        beds: integer({ min: 1, example: 2 }),
        price: decimal({ min: '0', default: '0' }),
      },
      access: { read: everyone },
    }),

    bookings: entity({
      fields: {
        // A room with bookings cannot be deleted: the default of onDelete is 'restrict'. ?expand=bookings returns them
        // too.
        room: ref('rooms', { as: 'bookings' }),
        owner: ref('users', { optional: true, onDelete: 'cascade' }), // deleted and restored with its owner
        starts_at: datetime({ example: '2026-12-31T15:00:00Z' }),
        guests: integer({ min: 1, max: 20, default: 1 }),
        status: choice(['open', 'held', 'paid'], { default: 'open' }),
        address: object(
          {
            city: text({ example: 'Berlin' }),
            zip: text({ pattern: '^[0-9]{5}$', example: '10115' }),
            country: ref('countries', { optional: true, onDelete: 'clear' }), // a reference inside an object
          },
          { optional: true },
        ),
      },
      unique: [['room.id', 'starts_at']], // among live bookings: a deleted one frees its room
      index: [['status', '-starts_at']], // serves ?status=open&sort=-starts_at, no matter how many there are
      access: {
        create: 'owner.id == me.id && status == "open"',
        read: 'owner.id == me.id',
        update: 'owner.id == me.id && next.owner.id == me.id && status != "paid"', // and not given away
        delete: 'owner.id == me.id',
        restore: 'owner.id == me.id',
      },
    }),
  },
})
