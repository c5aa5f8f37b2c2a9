import { expect, test } from 'bun:test'
import bookings from '../../examples/bookings/takeback.config.ts'
import { eventually, onOneStore } from '../harness.ts'
import { freePort } from '../ports.ts'
import { lookAway, openConsole } from './console.ts'

onOneStore(
  'postgres',
  'the console and its server',
  bookings,
  (server) => {
    test('a server that is restarted loses nothing that was typed, and its changes arrive', async () => {
      const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'Attic', beds: 2 })
      const { page, open, close, complaints } = await openConsole(server)
      await open(`/rooms/${room.id}`)
      await page.getByLabel('Title').fill('Attic with a view')
      await server.stop()
      await page.getByTitle('Not connected').waitFor({ state: 'attached' })
      await server.start()
      await page.getByTitle('Live:').waitFor({ state: 'attached' })
      expect(await page.getByLabel('Title').inputValue()).toBe('Attic with a view')
      await page.getByRole('button', { name: 'Save' }).click()
      await eventually(
        async () => (await server.expect(200, 'GET', `/api/rooms/${room.id}/`)).title === 'Attic with a view',
      )
      await open('/rooms')
      await page.getByRole('link', { name: 'Attic with a view' }).waitFor()
      await server.expect(200, 'PATCH', `/api/rooms/${room.id}/`, { title: 'Cellar' })
      await page.getByRole('link', { name: 'Cellar' }).waitFor()
      // While the server is down, the browser reports it in its own words.
      expect(complaints.filter((one) => !one.includes('ERR_'))).toEqual([])
      complaints.length = 0
      await close()
    })

    test('a slow network shows what comes, and in the end all of it', async () => {
      const { page, open, close } = await openConsole(server)
      await page.route('**/api/**', async (route) => {
        await Bun.sleep(300)
        await route.continue()
      })
      await open('/')
      const navigation = page.getByRole('navigation', { name: 'Main navigation' })
      await navigation.getByRole('link', { name: 'Rooms' }).click()
      await page.getByRole('link', { name: 'Cellar' }).waitFor()
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await close()
    })

    test('what cannot be renewed stays on the page, and whatever was typed beside it', async () => {
      const { page, open, close } = await openConsole(server)
      const refused = { status: 403, json: { code: 'forbidden', message: 'You must not do this.' } }
      const notice = page.getByText('could not be brought up to date')
      const renew = async (api: string) => {
        await page.route(`**${api}*`, (route) => route.fulfill(refused))
        // An answer that was under way already is not one of the refused ones, so this repeats.
        do await lookAway(page, api)
        while ((await notice.count()) === 0)
        await page.unrouteAll()
      }
      await open('/auth/keys')
      await page.getByRole('button', { name: 'New key' }).first().click()
      await page.getByLabel('Name').fill('Import')
      await renew('/api/auth/keys/')
      expect(await page.getByLabel('Name').inputValue()).toBe('Import')
      await lookAway(page, '/api/auth/keys/')
      await notice.waitFor({ state: 'detached' })
      await open('/system/health')
      await page.getByRole('table').waitFor()
      await renew('/api/health/details')
      expect(await page.getByRole('table').count()).toBe(1)
      await close()
    })
  },
  // The browser must find the server at the same port after a restart.
  { port: String(freePort()) },
)
