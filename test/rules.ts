import {
  boolean,
  choice,
  entity,
  everyone,
  integer,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../src/takeback.ts'
import { withAdmins } from './declarations.ts'

const own = 'owner.id == me.id'

/** Own rows only, a team's, public ones, hidden and read-only fields, a state machine. */
export const rules = withAdmins({
  companies: entity({
    fields: { name: text(), open: boolean({ default: false }) },
    access: { read: 'open || id == me.company.id' },
  }),
  users: entity({
    login: { userType: 'user' },
    fields: {
      name: text({ optional: true }),
      company: ref('companies', { optional: true }),
      phone: text({ optional: true, read: 'id == me.id' }),
      score: integer({ default: 0, write: 'me.type == "staff"' }),
    },
    access: { create: everyone, read: 'id == me.id || company.id == me.company.id', update: 'id == me.id' },
  }),
  staff: entity({ login: { userType: 'staff' }, fields: { level: integer({ default: 1 }) } }),
  notes: entity({
    fields: { title: text(), owner: ref('users', { optional: true }), tags: list(text(), { default: [] }) },
    access: { create: own, read: own, update: own, delete: own, restore: own, purge: own, history: own },
  }),
  slots: entity({
    fields: { name: text(), owner: ref('users'), size: integer({ max: 9 }) },
    unique: [['name', 'owner.id']],
    access: { create: own, read: 'me != null', update: 'owner.id == me.id && next.owner.id == me.id' },
  }),
  tasks: entity({
    fields: {
      title: text(),
      status: choice(['open', 'held', 'done'], { default: 'open' }),
      owner: ref('users', { optional: true }),
      price: integer({ optional: true, read: 'me.type == "staff"', write: 'me.type == "staff"' }),
      secretly: object(
        { hint: text({ optional: true }), deep: text({ optional: true }) },
        { optional: true, read: 'me.type == "staff"' },
      ),
    },
    access: {
      read: everyone,
      create: 'status == "open" && me != null',
      update:
        'me.type == "staff" || (owner.company.id == me.company.id && (status == next.status || (status == "open" && next.status == "held")))',
      delete: signedIn,
      restore: 'status == "held"',
      history: signedIn,
    },
  }),
})
