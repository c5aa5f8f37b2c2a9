// The declaration for `npm run bench -- --only queries`: visits, of which users see those of their own company.
import { app, choice, entity, integer, ref, signedIn, text } from 'takeback'

export default app({
  admins: 'admins',

  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),

    companies: entity({ fields: { name: text() } }),

    members: entity({
      login: { userType: 'member' },
      fields: { company: ref('companies', { optional: true }) },
      access: { read: 'company.id == me.company.id' },
    }),

    rooms: entity({ fields: { title: text({ min: 1, max: 200 }) }, access: { read: signedIn } }),

    visits: entity({
      fields: {
        company: ref('companies'),
        room: ref('rooms'),
        status: choice(['open', 'held', 'paid']),
        guests: integer({ min: 1, max: 20 }),
        price: integer(),
      },
      access: { read: 'company.id == me.company.id' },
      index: [['company.id', 'status', '-price']],
    }),
  },
})
