import { expect, test } from 'bun:test'
import bookings from '../../examples/bookings/takeback.config.ts'
import { onEveryStore } from '../harness.ts'
import { openConsole } from './console.ts'

onEveryStore('the system in the console', bookings, (server) => {
  test('shows types and references, rules, and who may do what', async () => {
    const { page, open, close, expectAccessible } = await openConsole(server)
    await server.expect(201, 'POST', '/api/rooms/', { title: 'One', beds: 1 })
    await open('/system')
    await page.getByRole('img', { name: '5 types with 3 references' }).waitFor()
    await page.getByText('As a list').click()
    await page.getByRole('row', { name: 'bookings.address.country countries is cleared' }).waitFor()
    await expectAccessible()
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByText('owner.id == me.id && status == "open"').waitFor()
    const ask = async (who: string, path: string) => {
      await page.getByLabel('Who', { exact: true }).fill(who)
      await page.getByLabel('Which').fill(path)
      await page.getByRole('button', { name: 'Ask' }).click()
    }
    await ask('nobody', 'rooms/1')
    expect(
      (
        await page
          .getByRole('status')
          .filter({ hasText: /yes|no/ })
          .innerText()
      ).trim(),
    ).toBe('yes')
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
