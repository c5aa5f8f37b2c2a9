// The declaration for `npm run bench`: bookings that are created, read, listed, deleted and restored, and a parent
// whose children are deleted with it.
import { app, choice, datetime, entity, integer, object, ref, text } from 'takeback'

export default app({
  admins: 'admins',

  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: { name: text({ optional: true }) } }),

    rooms: entity({ fields: { title: text({ min: 1, max: 200 }) } }),

    bookings: entity({
      fields: {
        room: ref('rooms'),
        starts_at: datetime(),
        guests: integer({ min: 1, max: 20 }),
        status: choice(['open', 'held', 'paid']),
        address: object({ city: text(), zip: text({ pattern: '^[0-9]{5}$' }) }, { optional: true }),
      },
    }),

    customers: entity({ fields: { name: text() } }),

    orders: entity({
      fields: { customer: ref('customers', { onDelete: 'cascade' }), title: text(), amount: integer() },
    }),
  },
})
