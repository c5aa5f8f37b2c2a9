import { afterAll, beforeAll, expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { connect } from '../../client/client.ts'
import { ADMIN, eventually, giant, onStoreByHand, TestServer } from '../harness.ts'
import { type Hotel, hotel } from './app.ts'
import { bundled } from './bundled.ts'
import { inChromium } from './chromium.ts'
import type { RoomsPage } from './tanstack-page.ts'

/** Accesses the rooms of a page from outside. */
function roomsIn(page: Page) {
  const call = (name: keyof RoomsPage, ...given: unknown[]) =>
    page.evaluate(
      ([name, given]) => {
        const found = (globalThis as any).rooms[name]
        return typeof found === 'function' ? found(...given) : found
      },
      [name, given] as [string, any[]],
    )
  return {
    call,
    open: (url: string) =>
      page.evaluate((url) => {
        const global = globalThis as any
        global.rooms = global.openRooms(url)
      }, url),
    shows: async (expected: string[]) => {
      await eventually(async () => String(await call('shown')) === String(expected))
    },
  }
}

onStoreByHand('sqlite', 'a page without a network', (store) => {
  const server = new TestServer(store, hotel, { 'allow-origins': '*' })
  beforeAll(() => server.start())
  afterAll(() => server.remove())

  giant('keeps what is written, over a reload, and sends it once', async () => {
    const other = connect<Hotel>(server.url)
    await other.login(ADMIN)
    await inChromium(await bundled('tanstack-page.ts'), async (page) => {
      const rooms = roomsIn(page)
      await page.evaluate(([url, login]) => (globalThis as any).signIn(url, login), [server.url, ADMIN])
      await rooms.open(server.url)
      await other.rooms.create({ title: 'attic', beds: 2 })
      await rooms.shows(['attic 2'])

      await page.context().setOffline(true)
      await rooms.call('insert', 'loft', 3)
      await rooms.call('setBeds', 'loft', 4)
      await rooms.call('insert', 'none', 0)
      await rooms.call('setBeds', 'attic', 5)
      expect(await rooms.call('shown')).toEqual(['attic 5?', 'loft 4?', 'none 0?'])

      // The page can be reloaded, but the API is still down.
      await page.route(`${server.url}/api/**`, (route) => route.abort('internetdisconnected'))
      await page.context().setOffline(false)
      await page.reload()
      await rooms.open(server.url)
      await rooms.shows(['loft 4?', 'none 0?'])
      expect([await rooms.call('waiting'), (await other.rooms.list()).data.length]).toEqual([4, 1])

      await page.unroute(`${server.url}/api/**`)
      await rooms.shows(['attic 5', 'loft 4'])
      expect([await rooms.call('waiting'), await rooms.call('refused')]).toEqual([0, ['invalid_data']])
      const made = (await other.rooms.list()).data.map(({ title, beds }) => `${title} ${beds}`)
      expect(made.sort()).toEqual(['attic 5', 'loft 4'])
    })
  })
})
