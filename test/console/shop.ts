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
  now,
  number,
  object,
  ref,
  secret,
  signedIn,
  text,
  url,
} from '../../src/takeback.ts'
import { forUsers } from '../declarations.ts'

const admins = entity({ login: { userType: 'admin' }, fields: { name: text({ max: 100, optional: true }) } })
const adminsOnly = 'me.type == "admin"'

/** Orders with a field of every type, their targets and their referrers. */
export const shop = app({
  admins: 'admins',
  entities: {
    admins,
    users: entity({
      login: { userType: 'user' },
      fields: { name: text({ max: 100 }) },
      access: { create: everyone, read: signedIn },
    }),
    tags: entity({ fields: { word: text({ max: 100, search: true }) }, access: forUsers }),
    customers: entity({
      fields: {
        name: text({ max: 100 }),
        boss: ref('customers', { optional: true, onDelete: 'clear' }),
      },
      access: forUsers,
    }),
    orders: entity({
      description: 'What customers want.',
      title: 'subject',
      fields: {
        subject: text({ max: 100, description: 'In a few words.' }),
        customer: ref('customers', { onDelete: 'cascade', as: 'orders' }),
        status: choice(['open', 'sent', 'paid'], { default: 'open' }),
        notes: text({ optional: true }),
        mail: email({ optional: true }),
        site: url({ optional: true }),
        price: decimal({ min: '0', default: '10.00' }),
        quantity: integer({ min: 1, max: 99, default: 1 }),
        weight: number({ optional: true }),
        express: boolean({ optional: true }),
        gift: boolean({ default: false }),
        due: date({ optional: true }),
        starts_at: datetime({ optional: true }),
        ends_at: datetime({ optional: true }),
        address: object({ city: text(), zip: text({ pattern: '^[0-9]{5}$' }) }, { optional: true }),
        lines: list(object({ sku: text({ pattern: '^[A-Z]+$' }), amount: integer({ default: 1 }) }), {
          default: [],
        }),
        words: list(text({ max: 10_000 }), { optional: true }),
        tags: list(ref('tags', { onDelete: 'clear' }), { default: [] }),
        extra: json({ optional: true }),
        pin: secret({ optional: true }),
        margin: decimal({ optional: true, read: adminsOnly, write: adminsOnly }),
        rating: integer({ optional: true, write: adminsOnly }),
        edited_at: datetime({ optional: true }),
      },
      set: { update: { edited_at: now } },
      computed: { total: 'quantity * price' },
      check: [{ that: 'ends_at > starts_at', at: 'ends_at', says: 'must be after starts_at' }],
      access: forUsers,
    }),
    invoices: entity({
      fields: { number: text({ max: 20 }), order: ref('orders') },
      access: forUsers,
    }),
  },
})
