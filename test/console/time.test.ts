import { expect, test } from 'bun:test'
import { app, entity, integer, ref, text } from '../../src/takeback.ts'
import { ADMIN, onOneStore, operationOf, type TestServer } from '../harness.ts'
import { expectSoon, openConsole } from './console.ts'

const hotel = app({
  admins: 'admins',
  journal: { keep: '30d' },
  trash: { keep: '30d' },
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: { name: text({ optional: true }) } }),
    customers: entity({ fields: { name: text() } }),
    bookings: entity({
      fields: { title: text(), guests: integer(), customer: ref('customers', { onDelete: 'cascade' }) },
    }),
  },
})

const HOSTILE = '<img src=x onerror="document.title=1"> \u202Etac\u202C 🏔'

/** A customer with bookings, all by one admin. */
async function customerWithBookings(server: TestServer, name: string, count: number): Promise<number> {
  const { id } = await server.expect(201, 'POST', '/api/customers/', { name })
  const bookings = Array.from({ length: count }, (_, at) => ({
    title: `Stay ${id}-${at + 1}`,
    guests: 1,
    customer: { id },
  }))
  await server.expect(201, 'POST', '/api/bookings/', bookings)
  return id
}

onOneStore('postgres', 'operations in the console', hotel, (server) => {
  test('a wrong cascade is found, understood and taken back', async () => {
    const id = await customerWithBookings(server, HOSTILE, 12)
    const console = await openConsole(server)
    const { page } = console
    await console.open('/operations')
    await page.getByText('created 12 bookings').waitFor()
    // Somebody else deletes it: the page shows that by itself.
    await server.expect(200, 'DELETE', `/api/customers/${id}/`)
    const row = page.getByRole('listitem').filter({ hasText: 'and 12 more' }).first()
    await row.getByRole('link', { name: HOSTILE }).waitFor()
    await console.expectAccessible()
    const whom = page.getByRole('combobox', { name: 'By whom' })
    await whom.fill(ADMIN.email.toUpperCase())
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('actor') === 'admins/1')
    await expectSoon(() => whom.inputValue(), ADMIN.email)
    await row.waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')

    await page.getByRole('heading', { level: 1, name: `Deleted ${HOSTILE} and 12 more` }).waitFor()
    const tree = page.getByRole('listitem').filter({ hasText: '12 more with it' })
    await tree.getByRole('link', { name: `Stay ${id}-12` }).waitFor()
    await console.expectAccessible()
    await page.keyboard.press('u')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Is restored (13)' }).waitFor()
    await console.expectAccessible()
    await dialog.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('Undone.').waitFor()
    await page.getByText('Undone by').waitFor()
    expect((await server.expect(200, 'GET', '/api/bookings/?count=1')).total).toBeGreaterThanOrEqual(12)
    await page.getByRole('button', { name: 'Redo…' }).waitFor()
    await console.close()
  })

  test('a conflict is explained, and the rest is taken back', async () => {
    const id = await customerWithBookings(server, 'Ada', 2)
    const [one, two] = (await server.expect(200, 'GET', `/api/bookings/?customer.id=${id}`)).data
    const many = await server.call(
      'PATCH',
      `/api/bookings/?filter=${encodeURIComponent(`customer.id == ${id}`)}`,
      {
        body: { guests: 9 },
      },
    )
    await server.expect(200, 'PATCH', `/api/bookings/${one.id}/`, { guests: 3 })
    const console = await openConsole(server)
    const { page } = console
    await console.open(`/operations/${operationOf(many)}`)
    await page.getByRole('button', { name: 'Undo…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('guests was changed since by').waitFor()
    await console.expectAccessible()
    await dialog.getByLabel('Leave these as they are, and undo the rest').check()
    await dialog.getByRole('heading', { name: 'Is changed back (1)' }).waitFor()
    // Somebody changes another value that the undo would set: the preview is shown again, and nothing is done.
    await server.expect(200, 'PATCH', `/api/bookings/${two.id}/`, { guests: 4 })
    await dialog.getByRole('button', { name: 'Undo the rest' }).click()
    await dialog.getByText('The data has changed since you opened this.').waitFor()
    await server.expect(200, 'PATCH', `/api/bookings/${two.id}/`, { guests: 9 })
    await dialog.getByLabel('Leave these as they are, and undo the rest').uncheck()
    await dialog.getByLabel('Leave these as they are, and undo the rest').check()
    await dialog.getByRole('heading', { name: 'Is changed back (1)' }).waitFor()
    await dialog.getByRole('button', { name: 'Undo the rest' }).click()
    await page.getByText('Undone.').waitFor()
    const after = (await server.expect(200, 'GET', `/api/bookings/?customer.id=${id}`)).data
    expect(after.map(({ guests }: { guests: number }) => guests)).toEqual([3, 1])
    await console.close()
  })
})

onOneStore('sqlite', 'time in the console', hotel, (server) => {
  test('a list is seen as it was, by keys and by dragging, with what changed since', async () => {
    const { id } = await server.expect(201, 'POST', '/api/customers/', { name: 'First' })
    await server.expect(201, 'POST', '/api/customers/', { name: HOSTILE })
    await server.expect(200, 'PATCH', `/api/customers/${id}/`, { name: 'Renamed' })
    const console = await openConsole(server)
    const { page } = console
    await console.open('/customers')
    const grid = page.getByRole('main')
    await grid.getByText('Renamed').waitFor()
    await page.keyboard.press('[')
    await grid.getByText('First', { exact: true }).waitFor()
    await page.getByRole('status').filter({ hasText: 'As it was on' }).waitFor()
    const slider = page.getByRole('slider', { name: 'Moment that is shown' })
    await slider.focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('1 in total').waitFor()
    await page.getByRole('button', { name: 'What changed since?' }).click()
    const compared = page.getByRole('region', { name: 'Time' })
    await compared.getByRole('heading', { name: 'Created (1)' }).waitFor()
    await compared.getByRole('deletion').getByText('First').waitFor()
    await compared.getByRole('insertion').getByText('Renamed').waitFor()
    await console.expectAccessible()
    await page.keyboard.press('Home')
    expect(new URL(page.url()).searchParams.get('at')).not.toBeNull()
    await slider.fill('1000')
    await grid.getByText('Renamed').first().waitFor()
    await page.waitForURL((url) => !url.searchParams.has('at'))
    await slider.fill('0')
    await page.getByText('0 in total').waitFor()
    await page.getByRole('button', { name: 'Play the changes' }).click()
    await page.getByText('2 in total').waitFor()
    await page.waitForURL((url) => !url.searchParams.has('at'))
    await page.getByRole('button', { name: 'Close' }).first().click()
    await slider.waitFor({ state: 'detached' })
    await console.go('/customers?at=2020-01-01T00:00:00Z')
    await page.getByText('What came before is no longer known.').waitFor()
    await page.getByRole('button', { name: 'Go there' }).click()
    await page.getByText('0 in total').waitFor()
    await console.close()
  })

  test('several operations are selected by keys, and taken back together', async () => {
    const { id } = await server.expect(201, 'POST', '/api/customers/', { name: 'One' })
    await server.expect(200, 'PATCH', `/api/customers/${id}/`, { name: 'Two' })
    await server.expect(200, 'PATCH', `/api/customers/${id}/`, { name: 'Three' })
    const console = await openConsole(server)
    const { page } = console
    await console.open(`/operations?entity=customers/${id}&kind=update`)
    await page.getByRole('listitem').filter({ hasText: 'Two' }).first().waitFor()
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
    await page.getByRole('button', { name: 'Undo together…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 operations are undone together, as one.').waitFor()
    await dialog.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('Undone.').waitFor()
    expect((await server.expect(200, 'GET', `/api/customers/${id}/`)).name).toBe('One')
    // An undo is described by what it takes back, and an undo of an undo by what it does again.
    const rows = page.locator('li.operation')
    await rows.filter({ hasText: 'took back 2 operations' }).waitFor()
    const undoNewest = async () => {
      const [{ id: newest }] = (await server.expect(200, 'GET', `/api/operations/?entity=customers/${id}`))
        .data
      await server.expect(200, 'POST', `/api/operations/${newest}/undo/`)
    }
    await undoNewest()
    await rows.filter({ hasText: 'redid 2 operations' }).waitFor()
    await undoNewest()
    await server.expect(200, 'PATCH', `/api/customers/${id}/`, { name: 'Four' })
    for (let time = 0; time < 3; time++) await undoNewest()
    await expectSoon(async () => (await rows.allInnerTexts()).filter((one) => one.includes('“')).length, 3)
    const told = (await rows.allInnerTexts()).slice(0, 3).map((one) => /(took|redid)[^”]*”/.exec(one)?.[0])
    expect(told).toEqual(['took back “changed One”', 'redid “changed One”', 'took back “changed One”'])
    // The user's last change that is not taken back is the create.
    await page.keyboard.press('Control+k')
    await page.keyboard.type('undo your last')
    await page.keyboard.press('Enter')
    await dialog.getByRole('heading', { name: 'Is deleted (1)' }).waitFor()
    await console.close()
  })
})

onOneStore('sqlite', 'overview and trash in the console', hotel, (server) => {
  test('what was deleted is found on the overview, and comes back from the trash', async () => {
    const console = await openConsole(server)
    const { page } = console
    await console.open('/')
    await page.getByRole('heading', { name: 'Nothing is here yet' }).waitFor()
    await page.getByRole('link', { name: 'New in Customers' }).first().waitFor()
    await console.expectAccessible()
    const id = await customerWithBookings(server, HOSTILE, 12)
    await server.expect(200, 'DELETE', `/api/customers/${id}/`)
    const main = page.getByRole('main')
    await main.getByRole('listitem').filter({ hasText: 'and 12 more' }).first().waitFor()
    await console.go('/customers')
    await main.getByRole('link', { name: '1 in the trash' }).waitFor()
    await console.go('/')
    await main.getByRole('link', { name: 'See what was deleted' }).click()

    const row = page.getByRole('listitem').filter({ hasText: 'Customers 1' })
    await row.getByText('Bookings 12').waitFor()
    await row.getByText('kept until').waitFor()
    await row.getByText('Deleted with it').click()
    await console.expectAccessible()
    await row.getByRole('button', { name: 'Restore…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Is restored (13)' }).waitFor()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('heading', { name: 'Nothing is deleted' }).waitFor()
    expect((await server.expect(200, 'GET', '/api/bookings/?count=1')).total).toBe(12)

    // A purge asks for the name first.
    await server.expect(200, 'DELETE', `/api/customers/${id}/`)
    await page.getByRole('button', { name: 'Purge <img' }).first().click()
    const purge = dialog.getByRole('button', { name: 'Purge for good' })
    await dialog.getByLabel('Type the name to confirm').fill('something else')
    await expectSoon(() => purge.isDisabled(), true)
    await console.expectAccessible()
    await dialog.getByLabel('Type the name to confirm').fill(HOSTILE)
    await purge.click()
    await page.getByRole('heading', { name: 'Nothing is deleted' }).waitFor()
    expect((await server.call('DELETE', `/api/customers/${id}/?restore=1`)).status).toBe(404)
    await console.close()
  })

  test('one Entity comes back alone only if what it refers to is there', async () => {
    const id = await customerWithBookings(server, 'Bo', 2)
    await server.expect(200, 'DELETE', `/api/customers/${id}/`)
    const console = await openConsole(server)
    const { page } = console
    await console.open('/operations/trash?q=bo')
    const row = page.getByRole('listitem').filter({ hasText: 'Customers' }).first()
    await row.getByText('Bo', { exact: true }).waitFor()
    await page.getByLabel('Find by name').fill(`stay ${id}-2`)
    const stay = page.getByRole('listitem').filter({ hasText: `Stay ${id}-2` })
    await stay.getByRole('button', { name: 'Restore…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('refers to something that is deleted:').waitFor()
    await dialog.getByLabel('Restore what they refer to as well').check()
    await dialog.getByRole('heading', { name: 'Is restored (3)' }).waitFor()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await page.getByText('Restored.').waitFor()
    expect((await server.expect(200, 'GET', `/api/customers/${id}/`)).name).toBe('Bo')
    await console.close()
  })
})
