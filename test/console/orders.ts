import type { Page } from 'playwright-core'
import {
  boolean,
  choice,
  date,
  decimal,
  entity,
  integer,
  json,
  list,
  object,
  ref,
  text,
  url,
} from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import type { TestServer } from '../harness.ts'

/** Orders with a field of nearly every type. */
export const shop = withAdmins({
  customers: entity({ fields: { name: text() } }),
  staff: entity({ login: { userType: 'staff' }, fields: { name: text({ optional: true }) } }),
  orders: entity({
    fields: {
      title: text({ search: true }),
      customer: ref('customers', { optional: true, onDelete: 'cascade' }),
      status: choice(['open', 'paid'], { default: 'open' }),
      amount: decimal({ optional: true }),
      quantity: integer({ optional: true }),
      rush: boolean({ default: false }),
      due: date({ optional: true }),
      site: url({ optional: true }),
      tags: list(text(), { default: [] }),
      extra: json({ optional: true }),
      address: object({ city: text() }, { optional: true }),
      agent: ref('staff', { optional: true }),
    },
  }),
})

export const EVIL = '<img src=x onerror="document.title=1">'
export const COLUMNS = 'title,customer,status,amount,quantity,rush,due,site,tags,extra,address.city,agent'

/** The initial data: hostile values in every field, and 300 orders below them. */
export async function fill(server: TestServer): Promise<void> {
  await server.member('staff', { email: 'nameless@example.com' })
  await server.expect(201, 'POST', '/api/customers/', [{ name: EVIL }, { name: 'Ada' }])
  const many = Array.from({ length: 300 }, (_, at) => ({
    title: `Order ${at}`,
    customer: { id: 2 },
    status: at % 2 ? 'open' : 'paid',
    quantity: at,
    amount: `${at}.50`,
  }))
  await server.expect(201, 'POST', '/api/orders/', many)
  await server.expect(201, 'POST', '/api/orders/', {
    title: `${EVIL}\u202E ${'long '.repeat(2000)}`,
    customer: { id: 1 },
    amount: '-12345.60',
    due: '2026-05-01',
    site: `https://example.com/?q=${encodeURIComponent(EVIL)}`,
    tags: [EVIL, 'javascript:alert(1)', '🎈', 'x'],
    extra: { '<b>': [EVIL] },
    address: { city: EVIL },
    agent: { id: 1 },
  })
}

export const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
