import { entity, everyone, integer, json, list, object, ref, signedIn, text } from '../src/takeback.ts'
import { withAdmins } from './declarations.ts'

const own = 'owner.id == me.id'
const staff = 'me.type == "staff"'

/** What somebody with an account, and no more than that, tries to get at. */
export const hostile = withAdmins({
  companies: entity({ fields: { name: text() }, access: { read: 'id == me.company.id' } }),
  users: entity({
    login: { userType: 'user' },
    fields: {
      company: ref('companies', { optional: true }),
      // Not even one's own: that of those whom one manages.
      rating: integer({ optional: true, read: 'manager.id == me.id' }),
      manager: ref('users', { optional: true }),
      phone: text({ optional: true, write: 'id == me.id' }),
    },
    access: { create: everyone, read: signedIn, update: signedIn },
  }),
  staff: entity({ login: { userType: 'staff' }, fields: { level: integer({ default: 1 }) } }),
  notes: entity({
    fields: {
      title: text(),
      code: text({ optional: true, unique: true }),
      owner: ref('users'),
      data: json({ optional: true }),
    },
    access: {
      create: signedIn,
      read: own,
      update: own,
      delete: own,
      restore: own,
      purge: own,
      history: own,
    },
  }),
  // Whoever may change it need not be whoever may read it.
  boards: entity({
    fields: { title: text(), owner: ref('users') },
    access: {
      create: own,
      read: own,
      update: signedIn,
      delete: signedIn,
      restore: signedIn,
      purge: signedIn,
    },
  }),
  // All to be read, but who wrote them, and for whom, only by those who did.
  letters: entity({
    fields: {
      title: text(),
      owner: ref('users'),
      to: ref('users', { optional: true, as: 'received', read: own }),
      copies: list(ref('users', { as: 'copied' }), { default: [], read: own }),
      grade: integer({ default: 0, read: own }),
    },
    access: { create: own, read: everyone, update: own, delete: own },
  }),
  // Seen by those who work for the same company as their owner: a rule that goes over references on both sides.
  papers: entity({
    fields: { title: text(), owner: ref('users'), holder: ref('users') },
    access: { read: 'owner.company.id == holder.company.id && !(owner.company.id == holder.rating)' },
  }),
  stamps: entity({
    fields: { paper: ref('papers'), holder: ref('users', { optional: true }) },
    access: { read: everyone },
  }),
  accounts: entity({
    fields: {
      title: text(),
      owner: ref('users'),
      plan: text({ default: 'free', write: 'owner.company.id == 1' }),
      billing: object(
        {
          vat: text({ optional: true }),
          credit: integer({ default: 0, write: staff }),
          limit: integer({ default: 10, write: 'owner.company.id == 1' }),
        },
        { optional: true },
      ),
      extras: object({ seats: integer({ default: 1, write: 'owner.company.id == 1' }) }, { optional: true }),
    },
    access: { create: signedIn, read: own, update: own },
  }),
  lockers: entity({
    fields: {
      title: text(),
      serial: text({ optional: true, unique: true, read: staff }),
      row: integer({ default: 0, read: staff, write: staff }),
      keeper: ref('keepers', { optional: true, read: staff, onDelete: 'cascade' }),
    },
    unique: [['title', 'row']],
    access: {
      create: signedIn,
      read: everyone,
      update: signedIn,
      delete: signedIn,
      restore: signedIn,
      history: signedIn,
    },
  }),
  keepers: entity({ fields: { name: text() } }),
})
