import { expect, test } from 'bun:test'
import bookings from '../../examples/bookings/takeback.config.ts'
import { app, entity, everyone, text } from '../../src/takeback.ts'
import { eventually, onOneStore } from '../harness.ts'
import { openConsole } from './console.ts'

onOneStore('sqlite', 'the system in the console', bookings, (server) => {
  test('shows types and references, rules, and who may do what', async () => {
    const { page, open, close, expectAccessible } = await openConsole(server)
    await server.expect(201, 'POST', '/api/rooms/', { title: 'One', beds: 1 })
    await open('/system')
    await page.getByRole('img', { name: '5 types with 3 references' }).waitFor()
    await page.getByText('As a list').click()
    await page.getByRole('row', { name: 'bookings.address.country countries reference is cleared' }).waitFor()
    await expectAccessible()
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByText('owner.id == me.id && status == "open"').waitFor()
    const ask = async (who: string, path: string) => {
      await page.getByLabel('Who', { exact: true }).fill(who)
      await page.getByLabel('Which').fill(path)
      await page.getByRole('button', { name: 'Ask' }).click()
    }
    await ask('nobody', 'rooms/1')
    await page.getByRole('status').getByText('yes', { exact: true }).waitFor()
    await ask('nobody', 'nothing/1')
    await page.getByText('not_found').waitFor()
    await expectAccessible()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByRole('row', { name: /^database ok/ }).waitFor()
    await expectAccessible()
    await close()
  })

  test('is for admins', async () => {
    const { token } = await server.user('users', { email: 'ann@example.com', name: 'Ann' })
    const { page, open, close } = await openConsole(server, { token })
    await open('/system/rules')
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor()
    await page.waitForURL('**/console/')
    await close()
  })
})

let isPaperThere = false
const printed: string[] = []

const withWork = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    orders: entity({ fields: { title: text() }, access: { create: everyone } }),
  },
  reactions: {
    async 'orders.create'({ after }) {
      if (!isPaperThere) throw new Error('<img src=x onerror=alert(1)> out of paper')
      printed.push(after.title)
    },
  },
  jobs: { nightly: { every: '0 3 * * *', zone: 'Europe/Berlin', async run() {} } },
})

onOneStore('postgres', 'the work of the server in the console', withWork, (server) => {
  test('failures are shown and tried again; requests, jobs and migrations are there', async () => {
    isPaperThere = false
    const title = `first on ${server.url}`
    await server.expect(201, 'POST', '/api/orders/', { title })
    const { page, open, close, expectAccessible } = await openConsole(server)
    await open('/system/work')
    const row = page.getByRole('row', { name: /orders.create/ })
    await row.getByText('out of paper').waitFor()
    expect(await row.innerText()).toContain('<img src=x onerror=alert(1)>')
    await expectAccessible()
    isPaperThere = true
    await row.getByRole('button', { name: 'Try now' }).click()
    await eventually(() => printed.includes(title))
    await page.getByText('Nothing waits, nothing failed').waitFor()
    await page
      .getByRole('row', { name: /nightly/ })
      .getByRole('button', { name: 'Run now' })
      .click()
    await page.getByRole('row', { name: /nightly.* done/ }).waitFor()
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.getByRole('row', { name: /POST \/api\/orders/ }).waitFor()
    await expectAccessible()
    await page.getByRole('link', { name: 'Migrations' }).click()
    await page.getByText('the database is as declared').waitFor()
    await expectAccessible()
    await close()
  })
})
