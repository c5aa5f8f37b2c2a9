// Who may do what with bookings. `npx takeback rules test` tries all cases, on a database in memory.
import { cases } from 'takeback'
import config from './takeback.config'

export default cases(config, {
  // The Entities of the test, by name. References use these names.
  given: {
    admins: { ada: {} },
    users: { anna: { name: 'Anna' }, bo: { name: 'Bo' } },
    rooms: { attic: { title: 'Attic', beds: 2 } },
    bookings: {
      monday: { room: 'attic', owner: 'anna', starts_at: '2027-05-03T15:00:00Z' },
      paid: { room: 'attic', owner: 'anna', starts_at: '2027-05-04T15:00:00Z', status: 'paid' },
      gone: { room: 'attic', owner: 'anna', starts_at: '2027-05-05T15:00:00Z' },
    },
  },
  deleted: ['bookings/gone'],

  cases: [
    {
      as: 'users/anna',
      may: [
        'read bookings/monday',
        'restore bookings/gone',
        ['update bookings/monday', { guests: 3 }],
        ['create bookings', { room: 'attic', owner: 'anna', starts_at: '2027-06-01T15:00:00Z' }],
      ],
      mayNot: [
        ['update bookings/monday', { owner: 'bo' }], // nobody gives a booking away
        ['update bookings/paid', { guests: 3 }],
        ['create bookings', { room: 'attic', owner: 'bo', starts_at: '2027-06-01T15:00:00Z' }],
        'purge bookings/gone',
        'read users/bo',
      ],
    },
    { as: 'users/bo', may: ['list bookings'], mayNot: ['read bookings/monday', 'delete bookings/monday'] },
    { as: 'nobody', may: ['read rooms/attic'], mayNot: ['list bookings', 'update rooms/attic'] },
    { as: 'admins/ada', may: ['purge bookings/gone', ['update bookings/paid', { status: 'open' }]] },
  ],
})
