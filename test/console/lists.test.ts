import { expect, test } from 'bun:test'
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
import { onEveryStore, type TestServer } from '../harness.ts'
import { openConsole } from './console.ts'

const shop = withAdmins({
  customers: entity({ fields: { name: text() } }),
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
    },
  }),
})

const EVIL = '<img src=x onerror="document.title=1">'
const COLUMNS = 'title,customer,status,amount,quantity,rush,due,site,tags,extra,address.city'

/** What is there at the beginning: hostile values in every field, and 300 orders below them. */
async function fill(server: TestServer): Promise<void> {
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
  })
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

onEveryStore('lists', shop, (server) => {
  test('show any value as text, sort, search, and what others change', async () => {
    await fill(server)
    const { page, open, expectAccessible, close } = await openConsole(server)
    await open(`/orders?columns=${COLUMNS}`)
    const first = page.getByRole('row').nth(1)
    await first.getByText('-12,345.60').waitFor()
    expect(await first.getByRole('link', { name: EVIL, exact: true }).getAttribute('href')).toEndWith(
      '/customers/1',
    )
    await first.getByText('May 1, 2026').waitFor()
    expect(await page.locator('[src=x], a[href^="javascript:"]').count()).toBe(0)
    await page.getByText('301 in total').waitFor()
    await expectAccessible()

    await page.getByRole('button', { name: 'Quantity' }).click()
    await page.getByRole('button', { name: 'Quantity' }).click()
    await page.getByRole('row').nth(1).getByText('Order 299').waitFor()
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-quantity')
    await page.getByRole('searchbox').fill('order 12')
    await page.getByText('11 in total').waitFor()

    await server.expect(200, 'PATCH', '/api/orders/13/', { status: 'open', title: 'Order 12 changed' })
    await rowOf(page, 'Order 12 changed').waitFor()
    await server.expect(200, 'PATCH', '/api/customers/2/', { name: 'Grace' })
    await rowOf(page, 'Order 12 changed').getByRole('link', { name: 'Grace' }).waitFor()
    await close()
  })

  test('are filtered by clicking and by text, each of which is the other, and as a program would do it', async () => {
    const { page, open, expectAccessible, close } = await openConsole(server)
    await open('/orders')
    const menu = page.getByRole('dialog', { name: 'Filter' })
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await menu.getByRole('button', { name: 'Status', exact: true }).click()
    await page.getByRole('checkbox', { name: 'paid' }).check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('149 in total').waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await menu.getByRole('button', { name: 'Customer', exact: true }).click()
    await page.getByRole('searchbox', { name: 'Search customers' }).fill('onerror')
    await page.getByRole('checkbox', { name: EVIL }).check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    await page.getByRole('button', { name: /Remove the filter: Status/ }).click()
    await page.getByText('1 in total', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'As text' }).click()
    const text = page.getByRole('textbox', { name: 'Filter in CEL' })
    expect(await text.inputValue()).toBe('customer.id in [1]')
    await text.fill('custmer.name == "Ada"')
    await page.getByText('unknown field "custmer" at column 1; did you mean "customer"?').waitFor()
    await expectAccessible()
    await text.fill('quantity >= 290 && sta')
    await text.press('End')
    await text.pressSequentially('t')
    await page.getByRole('option', { name: /status/ }).waitFor()
    await text.press('Tab')
    await text.pressSequentially(' == ')
    await text.press('ArrowDown')
    await text.press('Enter')
    expect(await text.inputValue()).toBe('quantity >= 290 && status == "open"')
    await text.press('Enter')
    await page.getByText('5 in total', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'By clicking' }).click()
    await page.getByRole('button', { name: 'Status is any of open', exact: true }).waitFor()

    await page.getByRole('button', { name: 'Try the API' }).click()
    const curl = await page.getByText(/^curl -G/).textContent()
    expect(curl).toContain(`'filter=quantity >= 290 && status == "open"'`)
    expect(curl).toContain('Bearer $TOKEN')
    const command = Bun.spawn(['bash', '-c', `${curl} -s`], {
      env: { ...process.env, TOKEN: server.adminToken },
    })
    const answer: any = await new Response(command.stdout).json()
    expect(answer.data.map(({ title }: { title: string }) => title)).toEqual(
      [299, 297, 295, 293, 291].map((at) => `Order ${at}`),
    )
    await expectAccessible()
    await close()
  })
})
