import { beforeAll, expect, test } from 'bun:test'
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
import { eventually, onOneStore, type TestServer } from '../harness.ts'
import { expectSoon, openConsole } from './console.ts'

const shop = withAdmins({
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

const EVIL = '<img src=x onerror="document.title=1">'
const COLUMNS = 'title,customer,status,amount,quantity,rush,due,site,tags,extra,address.city,agent'

/** What is there at the beginning: hostile values in every field, and 300 orders below them. */
async function fill(server: TestServer): Promise<void> {
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

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

onOneStore('sqlite', 'lists', shop, (server) => {
  beforeAll(() => fill(server))

  test('show any value as text, sort, search, and what others change', async () => {
    const { page, open, expectAccessible, close } = await openConsole(server)
    await open(`/orders?columns=${COLUMNS}`)
    const first = page.getByRole('row').nth(1)
    await first.getByText('-12,345.60').waitFor()
    expect(await first.getByRole('link', { name: EVIL, exact: true }).getAttribute('href')).toEndWith(
      '/customers/1',
    )
    await first.getByText('May 1, 2026').waitFor()
    // Whoever has no name has an address.
    await first.getByRole('link', { name: 'nameless@example.com', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('namel')
    await page.getByRole('option', { name: 'nameless@example.com' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await page.locator('[src=x], a[href^="javascript:"]').count()).toBe(0)
    await page.getByText('301 in total').waitFor()
    await expectAccessible()

    await page.getByRole('button', { name: 'Quantity' }).click()
    await page.getByRole('button', { name: 'Quantity' }).click()
    await page.getByRole('row').nth(1).getByText('Order 299').waitFor()
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-quantity')
    await page.getByRole('grid').evaluate((grid) => grid.parentElement?.scrollTo({ top: 900 }))
    const inSight = rowOf(page, 'Order 270')
    await inSight.waitFor()
    const { y } = (await inSight.boundingBox()) ?? {}
    const { id } = await server.expect(201, 'POST', '/api/orders/', { title: 'On top', quantity: 1000 })
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect((await inSight.boundingBox())?.y).toBe(y)
    await page.getByRole('button', { name: '1 new' }).click()
    await page.getByRole('row').nth(1).getByText('On top').waitFor()
    await server.expect(200, 'DELETE', `/api/orders/${id}/`)
    await server.expect(204, 'DELETE', `/api/orders/${id}/?purge=1`)
    await page.getByRole('searchbox').fill('order 12')
    await page.getByText('11 of 301').waitFor()

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
    await menu.getByRole('searchbox').fill('stat')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    await page.getByText('149 of 301').waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await menu.getByRole('button', { name: 'Customer', exact: true }).click()
    await page.getByRole('searchbox', { name: 'Search customers' }).fill('onerror')
    await page.getByRole('checkbox', { name: EVIL }).check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await menu.getByRole('button', { name: 'Agent', exact: true }).click()
    await page.getByRole('searchbox', { name: 'Search staff' }).fill('LESS@')
    await page.getByRole('checkbox', { name: 'nameless@example.com' }).check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.locator('.filter-chip').getByText('nameless@example.com').waitFor()
    await page.getByRole('button', { name: /Remove the filter: Agent/ }).click()
    await page.getByRole('button', { name: /Remove the filter: Status/ }).click()
    await page.getByText('1 of 301', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'As text' }).click()
    const text = page.getByRole('textbox', { name: 'Filter in CEL' })
    await expectSoon(() => text.inputValue(), 'customer.id in [1]')
    await page.locator('[aria-label="Filter in CEL"]:focus').waitFor()
    expect(await text.getAttribute('placeholder')).toBe('quantity > 3 && status == "open"')
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
    await expectSoon(() => text.inputValue(), 'quantity >= 290 && status == "open"')
    await text.press('Enter')
    await page.getByText('5 of 301', { exact: true }).waitFor()
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
  test('change many as one operation, which is shown first and can be taken back', async () => {
    const { page, open, expectAccessible, close } = await openConsole(server)
    await open('/orders?sort=quantity&filter=quantity+<+10')
    await rowOf(page, 'Order 3').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+ArrowDown')
    await rowOf(page, 'Order 4')
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await page.getByText('5 selected').waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByLabel('Field').selectOption('status')
    await page.getByLabel('Status', { exact: true }).selectOption('paid')
    await page.getByRole('button', { name: 'Show what changes' }).click()
    await page.getByText('2 changed in Orders').waitFor()
    await page.getByRole('button', { name: 'Change them' }).click()
    await rowOf(page, 'Order 3').getByText('paid').waitFor()

    await rowOf(page, 'Order 3').getByRole('checkbox').click()
    await page.getByRole('button', { name: 'Select all 10 that match' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: /^Delete 1[01] orders[?]$/ })
    await dialog.getByText('10 deleted in Orders').waitFor()
    await expectAccessible()
    const late = await server.expect(201, 'POST', '/api/orders/', { title: 'Late', quantity: 9 })
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('Somebody has changed the data meanwhile').waitFor()
    await dialog.getByText('11 deleted in Orders').waitFor()
    await server.expect(200, 'DELETE', `/api/orders/${late.id}/`)
    await server.expect(204, 'DELETE', `/api/orders/${late.id}/?purge=1`)
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('10 deleted in Orders').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    const [operation] = (await server.expect(200, 'GET', '/api/operations/?limit=1')).data
    expect(operation.summary).toEqual({ orders: { delete: 10 } })
    await page.keyboard.press('u')
    await rowOf(page, 'Order 3').waitFor()

    await server.expect(200, 'DELETE', '/api/orders/5/')
    await open('/orders?trashed=only')
    await rowOf(page, 'Order 4').getByRole('checkbox').click()
    await page.getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByRole('dialog').getByText('1 restored in Orders').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('heading', { name: 'Nothing is deleted' }).waitFor()
    await close()
  })

  test('have the columns that a person had last; a view has its own', async () => {
    const ann = await server.user('admins', { email: 'ann@example.com' })
    const bob = await server.user('admins', { email: 'bob@example.com' })
    const { page, open, close } = await openConsole(server, ann)
    const heads = (where: Page) => where.getByRole('columnheader').filter({ has: where.locator('.edge') })
    const shows = (where: Page, names: string[]) => expectSoon(() => heads(where).allInnerTexts(), names)
    const widthOf = async (where: Page, name: string) =>
      (await where.getByRole('columnheader', { name }).boundingBox())?.width ?? 0
    await open('/orders')
    await rowOf(page, 'Order 299').waitFor()
    const usual = await heads(page).allInnerTexts()
    await page.getByRole('button', { name: 'Columns' }).click()
    for (const name of usual.filter((one) => one !== 'Title' && one !== 'Status'))
      await page.getByRole('checkbox', { name, exact: true }).uncheck()
    await page.getByRole('checkbox', { name: 'Quantity' }).check()
    await page.keyboard.press('Escape')
    await shows(page, ['Title', 'Status', 'Quantity'])
    await page.getByRole('button', { name: 'Quantity', exact: true }).focus()
    await page.keyboard.press('Alt+ArrowLeft')
    await page.keyboard.press('Alt+ArrowLeft')
    await shows(page, ['Quantity', 'Title', 'Status'])
    await page
      .getByRole('columnheader', { name: 'Status' })
      .dragTo(page.getByRole('columnheader', { name: 'Title' }))
    await shows(page, ['Quantity', 'Status', 'Title'])
    const before = await widthOf(page, 'Status')
    const edge = await page.getByRole('columnheader', { name: 'Status' }).locator('.edge').boundingBox()
    if (edge === null) throw new Error('no edge')
    await page.mouse.move(edge.x + 2, edge.y + 5)
    await page.mouse.down()
    await page.mouse.move(edge.x + 42, edge.y + 5)
    await page.mouse.up()
    await eventually(async () => (await widthOf(page, 'Status')) === before + 40)
    expect(new URL(page.url()).search).toBe('')
    const { token } = ann
    const kept = async () => server.expect(200, 'GET', '/api/auth/preferences/', undefined, { token })
    await eventually(async () => /^quantity,status:\d+,title/.test((await kept()).columns?.orders))

    await page.reload()
    await shows(page, ['Quantity', 'Status', 'Title'])
    expect(await widthOf(page, 'Status')).toBe(before + 40)
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByLabel('Name of this view').fill('Mine')
    await page.getByRole('button', { name: 'Keep' }).click()
    await page.getByRole('button', { name: 'Mine', exact: true }).waitFor()
    await eventually(async () => (await kept()).views?.orders.length === 1)
    await page.keyboard.press('Escape')

    // Fields that are gone, or not for everybody any more; others who keep something there.
    const body = { ...(await kept()), columns: { orders: 'gone:90,amount,site', customers: 5 } }
    await server.expect(200, 'PUT', '/api/auth/preferences/', body, { token })
    const second = await openConsole(server, ann)
    await second.open('/orders')
    await shows(second.page, ['Amount', 'Site'])
    await second.open('/customers')
    await shows(second.page, ['Name', 'Updated'])
    await second.open('/orders')
    await second.page.getByRole('button', { name: 'Views' }).click()
    await second.page.getByRole('link', { name: 'Mine' }).click()
    await shows(second.page, ['Quantity', 'Status', 'Title'])
    await second.page.getByRole('button', { name: 'Status', exact: true }).press('Alt+ArrowLeft')
    await shows(second.page, ['Status', 'Quantity', 'Title'])
    expect(new URL(second.page.url()).searchParams.get('columns')).toStartWith('status')
    await second.page.getByRole('button', { name: 'Columns' }).click()
    await second.page.getByRole('button', { name: 'Back to the usual columns' }).click()
    await shows(second.page, ['Amount', 'Site'])
    await second.page.getByRole('button', { name: 'Back to the usual columns' }).click()
    await shows(second.page, usual)
    await eventually(async () => (await kept()).columns.orders === undefined)
    await second.close()
    await close()
    const other = await openConsole(server, bob)
    await other.open('/orders')
    await shows(other.page, usual)
    await other.close()
  })

  test('keep views, export files, and show the past', async () => {
    const before = new Date().toISOString()
    // The journal counts in milliseconds.
    await Bun.sleep(2)
    await server.expect(200, 'PATCH', '/api/orders/9/', { title: '=HYPERLINK("evil")', quantity: 8 })
    const { page, open, expectAccessible, close } = await openConsole(server)
    await open('/orders?filter=quantity+==+8&columns=title,quantity')
    await rowOf(page, 'HYPERLINK').waitFor()
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByLabel('Name of this view').fill('Eights <b>')
    await page.getByRole('button', { name: 'Keep' }).click()
    await page.getByRole('link', { name: 'Eights <b>' }).waitFor()
    await open('/orders')
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('link', { name: 'Eights <b>' }).click()
    await page.getByText('1 of 301', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Eights <b>' }).waitFor()

    await page.getByRole('button', { name: 'Export' }).click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'As CSV' }).click(),
    ])
    expect(file.suggestedFilename()).toBe('orders.csv')
    const csv = await Bun.file(await file.path()).text()
    expect(csv).toBe(`id,title,quantity\r\n9,"'=HYPERLINK(""evil"")",8`)

    await open(`/orders?filter=quantity+==+8&at=${before}`)
    await rowOf(page, 'Order 8')
      .getByRole('link', { name: /Grace|Ada/ })
      .waitFor()
    await page.getByText(/As it was on/).waitFor()
    await expectSoon(() => page.getByRole('link', { name: 'New' }).count(), 0)
    await expectAccessible()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await rowOf(page, 'HYPERLINK').waitFor()
    await close()
  })
})
