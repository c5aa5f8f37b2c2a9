// `npm run screenshots`: takes pictures of every page of the console, in light, dark and on a phone, into
// docs/images/console/. The README shows some of them. Needs a Chromium, which comes with the packages.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import example from '../../examples/bookings/takeback.config.ts'
import { TestServer } from '../harness.ts'
import { openChromium } from '../process/chromium.ts'

const folder = process.argv[2] ?? join(import.meta.dir, '../../docs/images/console')
mkdirSync(folder, { recursive: true })

const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
const server = new TestServer('sqlite', example, { outbox })
await server.start()
const browser = await openChromium()
try {
  const pages = await fill(server)
  for (const [look, options] of Object.entries(LOOKS)) await shoot(browser, look, options, pages)
} finally {
  await browser.close()
  await server.stop()
  rmSync(outbox, { recursive: true, force: true })
}
process.exit(0)

/** Creates some weeks of data of a small hotel. Returns the paths of the pages, by name. */
async function fill(server: TestServer): Promise<Record<string, string>> {
  const create = (path: string, body: object) => server.expect(201, 'POST', `/api/${path}/`, body)
  const rooms = []
  for (const [title, beds, price] of [
    ['Attic', 2, '84.00'],
    ['Lake view', 2, '129.00'],
    ['Garden suite', 4, '180.00'],
    ['Library', 1, '62.50'],
    ['Tower', 2, '149.00'],
  ] as const)
    rooms.push(await create('rooms', { title, beds, price }))
  const country = await create('countries', { code: 'DE' })
  const guests = []
  for (const [email, name] of [
    ['ada@example.com', 'Ada Lovelace'],
    ['alan@example.com', 'Alan Turing'],
    ['grace@example.com', 'Grace Hopper'],
    ['emmy@example.com', 'Emmy Noether'],
  ] as const)
    guests.push(await create('users', { email, name, password: 'correct horse battery' }))
  const bookings = []
  for (let day = 0; day < 40; day++)
    bookings.push(
      await create('bookings', {
        room: { id: rooms[day % rooms.length].id },
        owner: { id: guests[day % guests.length].id },
        starts_at: new Date(Date.UTC(2027, 4, 1 + day, 15)).toISOString(),
        guests: 1 + (day % 3),
        status: (['open', 'held', 'paid'] as const)[day % 3],
        ...(day % 4 === 0 && { address: { city: 'Berlin', zip: '10115', country: { id: country.id } } }),
      }),
    )
  const [first] = bookings
  await server.expect(200, 'PATCH', `/api/bookings/${first.id}/`, { guests: 2 })
  await server.expect(200, 'PATCH', `/api/bookings/${first.id}/`, { status: 'held' })
  await server.expect(200, 'PATCH', `/api/rooms/${rooms[1].id}/`, {
    price: '139.00',
    title: 'Lake view with balcony',
  })
  await server.expect(200, 'DELETE', `/api/users/${guests[3].id}/`)
  const { data } = await server.expect(200, 'GET', '/api/operations/?limit=1')
  return {
    home: '/',
    list: '/bookings',
    entity: `/bookings/${first.id}`,
    new: '/bookings/new',
    operations: '/operations',
    operation: `/operations/${data[0].id}`,
    trash: '/operations/trash',
    people: '/auth/people?type=users',
    keys: '/auth/keys',
    account: '/auth/account',
    types: '/system',
    rules: '/system/rules',
    health: '/system/health',
  }
}

async function shoot(
  browser: Browser,
  look: string,
  options: (typeof LOOKS)[keyof typeof LOOKS],
  pages: Record<string, string>,
): Promise<void> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(`${server.url}/console/`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await take(page, look, 'sign-in')
  await page.evaluate(([name, kept]) => localStorage.setItem(name, kept), [
    `takeback ${new URL(server.url).origin}`,
    JSON.stringify({ token: server.adminToken }),
  ] as const)
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(`${server.url}/console${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await take(page, look, name)
  }
  await context.close()
}

async function take(page: Page, look: string, name: string): Promise<void> {
  await page.waitForLoadState('load')
  // Waits until lists are loaded, and nothing moves any more.
  await page.waitForTimeout(1200)
  await page.screenshot({ path: join(folder, `${name}-${look}.png`) })
  console.log(`${name}-${look}.png`)
}
