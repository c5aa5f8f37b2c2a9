import { expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { onEveryStore, type TestServer } from '../harness.ts'
import { openConsole } from './console.ts'
import { shop } from './shop.ts'

/** A customer, two tags and an order, as most flows need them. */
async function stock(server: TestServer, more: object = {}) {
  const customer = await server.expect(201, 'POST', '/api/customers/', { name: 'Ada Lovelace' })
  const order = await server.expect(201, 'POST', '/api/orders/', {
    subject: 'Gears and wheels',
    customer: { id: customer.id },
    notes: 'Ten small gears and two big wheels.',
    ...more,
  })
  return { customer, order }
}

/** Chooses in a field that searches. */
async function choose(page: Page, field: Locator, text: string): Promise<void> {
  await field.click()
  await field.fill(text)
  await page.getByRole('option', { name: new RegExp(`^${text}.* \\d+$`) }).click()
}

onEveryStore('one Entity in the console', shop, (server) => {
  test('a form has an input for every type of field, and errors stand at theirs', async () => {
    await server.expect(201, 'POST', '/api/customers/', { name: 'Grace Hopper' })
    await server.expect(201, 'POST', '/api/tags/', [{ word: 'urgent' }, { word: 'fragile' }])
    const console = await openConsole(server, { timezoneId: 'Europe/Zurich' })
    const { page } = console
    await console.open('/orders/new')
    const field = (label: string) => page.getByLabel(label, { exact: true })
    await page.getByText('In a few words. · at most 100 characters').waitFor()
    await field('Subject *').fill('Compilers')
    await choose(page, page.getByRole('combobox', { name: 'Customer' }), 'Grace')
    await field('Status').selectOption('sent')
    await field('Notes').fill('First line\nsecond line')
    await field('Mail').fill('grace@example.com')
    await field('Site').fill('https://example.com/')
    await field('Price').fill('12,50')
    await field('Quantity').fill('2x')
    await field('Weight').fill('0.1')
    await field('Express').selectOption('No')
    await field('Due').fill('2027-05-01')
    await field('Starts at').fill('2027-05-01T14:30')
    await field('Ends at').fill('2027-05-01T14:30')
    await page.getByRole('button', { name: 'Add Address' }).click()
    await field('City *').fill('Bern')
    await field('Zip *').fill('300')
    for (const sku of ['GEAR', 'wheel']) {
      await page.getByRole('button', { name: 'Add to Lines' }).click()
      await page.getByLabel('Sku *').last().fill(sku)
    }
    await page.getByRole('button', { name: 'Add to Words' }).click()
    await field('Words 1').fill('quick')
    const tags = page.getByRole('combobox', { name: 'Add to Tags' })
    for (const tag of ['fragile', 'urgent']) await choose(page, tags, tag)
    await field('Extra').fill('{"a": [1, null}')
    await page.getByText('Not JSON yet: line 1, column 15').waitFor()
    await field('Extra').fill('{"a": [1, null]}')
    await field('Pin').fill('1234')
    await page.keyboard.press('Control+Enter')
    await page.getByText('must match the pattern ^[A-Z]+$').waitFor()
    // All at once, each at its field; what comes first is ready to be mended.
    for (const [label, says] of [
      ['Quantity', 'must be an integer'],
      ['Zip *', 'must match the pattern'],
    ] as const)
      expect(await described(field(label))).toContain(says)
    expect(await described(page.getByLabel('Sku *').last())).toContain('must match the pattern')
    expect(await page.evaluate('document.activeElement.id')).toEndWith('-quantity')
    await console.expectAccessible()
    await field('Quantity').fill('2')
    await field('Zip *').fill('30000')
    await page.getByLabel('Sku *').last().fill('WHEEL')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('must be after starts_at').waitFor()
    await field('Ends at').fill('2027-05-01T16:00')
    // The second line first.
    await page.getByRole('button', { name: 'Move item 2 of 2' }).press('ArrowUp')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Compilers', level: 1 }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const made = await server.expect(200, 'GET', `/api/orders/${id}/?expand=tags,customer`)
    expect(made).toMatchObject({
      subject: 'Compilers',
      customer: { name: 'Grace Hopper' },
      status: 'sent',
      notes: 'First line\nsecond line',
      price: '12.50',
      quantity: 2,
      weight: 0.1,
      express: false,
      gift: false,
      due: '2027-05-01',
      starts_at: '2027-05-01T12:30:00.000Z',
      address: { city: 'Bern', zip: '30000' },
      lines: [
        { sku: 'WHEEL', amount: 1 },
        { sku: 'GEAR', amount: 1 },
      ],
      words: ['quick'],
      tags: [{ word: 'fragile' }, { word: 'urgent' }],
      extra: { a: [1, null] },
    })
    expect(await field('Starts at').inputValue()).toBe('2027-05-01T14:30')
    await console.close()
  })

  test('a save sends what was changed, and nothing else', async () => {
    const { order } = await stock(server)
    const console = await openConsole(server)
    const { page } = console
    await console.open(`/orders/${order.id}`)
    await page.getByLabel('Notes').fill('Eleven small gears and two wheels.')
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.method() === 'PATCH'),
      page.keyboard.press('Control+s'),
    ])
    expect(request.postDataJSON()).toEqual({ notes: 'Eleven small gears and two wheels.' })
    expect(new URL(request.url()).search).toBe('?base=1')
    await page.getByText('Saved Gears and wheels.').waitFor()
    await console.close()
  })
})

/** What stands below a field. */
async function described(field: Locator): Promise<string> {
  const ids = (await field.getAttribute('aria-describedby')) ?? ''
  const texts = ids.split(' ').map((id) => field.page().locator(`[id="${id}"]`).textContent())
  return (await Promise.all(texts)).join(' ')
}
