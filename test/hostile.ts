import { entity, everyone, integer, json, list, object, ref, signedIn, text } from '../src/takeback.ts'
import { withAdmins } from './declarations.ts'

const own = 'owner.id == me.id'
const staff = 'me.type == "staff"'

/** A declaration with data that an attacker with an ordinary account tries to reach. */
export const hostile = withAdmins({
  companies: entity({ fields: { name: text() }, access: { read: 'id == me.company.id' } }),
  users: entity({
    login: { userType: 'user' },
    fields: {
      company: ref('companies', { optional: true }),
      // Users do not even see their own rating, only those of users whom they manage.
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
  // All users may change it, but only the owner may read it.
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
  // Everybody may read them, but only the owner sees the recipients and the grade.
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
  // Visible if owner and holder are of the same company: a rule with references on both sides.
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
