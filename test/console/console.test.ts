import { expect, test } from 'bun:test'
import bookings from '../../examples/bookings/takeback.config.ts'
import { onOneStore } from '../harness.ts'
import { openConsole } from './console.ts'

onOneStore('sqlite', 'the console', bookings, (server) => {
  test('is where the address of the server leads', async () => {
    const response = await fetch(server.url, { redirect: 'manual' })
    expect([response.status, response.headers.get('Location')]).toEqual([302, '/console/'])
  })

  test('is one page for all of its addresses, with a strict policy', async () => {
    for (const path of ['/console', '/console/', '/console/rooms/5?at=x']) {
      const response = await fetch(server.url + path)
      expect([path, response.status, response.headers.get('Content-Type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ])
      expect(response.headers.get('Content-Security-Policy')).toStartWith("default-src 'self';")
      expect(await response.text()).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=/)
    }
  })

  test('has files that are compressed, kept by browsers, and known by their content', async () => {
    const html = await (await fetch(`${server.url}/console/`)).text()
    const script = /src="([^"]+)"/.exec(html)?.[1]
    for (const encoding of ['br', 'gzip', 'identity']) {
      const response = await fetch(server.url + script, { headers: { 'Accept-Encoding': encoding } })
      expect(response.status).toBe(200)
      expect(response.headers.get('Content-Encoding')).toBe(encoding === 'identity' ? null : encoding)
      expect(response.headers.get('Cache-Control')).toContain('immutable')
      expect((await response.text()).length).toBeGreaterThan(50_000)
    }
    const known = await fetch(`${server.url}/console/`)
    const again = await fetch(`${server.url}/console/`, {
      headers: { 'If-None-Match': known.headers.get('ETag') ?? '' },
    })
    expect(again.status).toBe(304)
    for (const name of ['nothing.js', 'constructor', '..%2fpackage.json'])
      expect((await fetch(`${server.url}/console/-/${name}`)).status).toBe(404)
  })

  test('shows the way to everything, and is usable by everybody', async () => {
    const console = await openConsole(server)
    await console.open('/')
    const navigation = console.page.getByRole('navigation', { name: 'Main navigation' })
    for (const name of ['Bookings', 'Rooms', 'Operations', 'Trash', 'System'])
      await navigation.getByRole('link', { name, exact: true }).waitFor()
    await console.page.getByRole('heading', { level: 1 }).waitFor()
    await console.expectAccessible()
    await console.page.keyboard.press('Control+k')
    await console.page.keyboard.type('go rooms')
    await console.page.keyboard.press('Enter')
    await console.page.getByRole('heading', { name: 'Rooms', level: 1 }).waitFor()
    expect(new URL(console.page.url()).pathname).toBe('/console/rooms')

    await server.expect(201, 'POST', '/api/rooms/', { title: 'Sea view', beds: 2 })
    await server.expect(201, 'POST', '/api/users/', {
      email: 'sean@example.com',
      password: 'long enough for it',
      name: 'Sean',
    })
    await console.page.keyboard.press('Control+k')
    await console.page.keyboard.type('sea')
    await console.page.getByRole('option', { name: 'Rooms Sea view' }).waitFor()
    await console.page.getByRole('option', { name: 'Users Sean' }).click()
    await console.page.getByRole('heading', { name: 'Sean', level: 1 }).waitFor()
    await console.page.keyboard.press('?')
    const help = console.page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await help.getByText('To the history').waitFor()
    await help.getByText('Search, go anywhere, do anything').waitFor()
    await console.expectAccessible()
    await console.close()
  })
})

onOneStore(
  'sqlite',
  'with --no-console',
  bookings,
  (server) => {
    test('there is no console, and the address leads to the reference', async () => {
      expect((await fetch(`${server.url}/console/`)).status).toBe(404)
      const response = await fetch(server.url, { redirect: 'manual' })
      expect(response.headers.get('Location')).toBe('/docs')
    })
  },
  { 'no-console': '' },
)

test('what the first list needs is at most 150 KB', async () => {
  const { assets } = await import('../../console/dist/assets.js')
  const html = Bun.gunzipSync(Buffer.from(assets['index.html']?.gzip ?? '', 'base64'))
  const first = [...new TextDecoder().decode(html).matchAll(/\/console\/-\/([^"]+)/g)].map(
    ([, name = '']) => name,
  )
  expect(first.length).toBeGreaterThan(2)
  const bytes = first.reduce((sum, name) => sum + Buffer.from(assets[name]?.gzip ?? '', 'base64').length, 0)
  expect(bytes).toBeLessThan(150 * 1024)
})

test('both languages have the same words', async () => {
  const { messages } = await import('../../console/texts/languages.ts')
  const keysOf = (value: object): string[] =>
    Object.entries(value).flatMap(([key, one]) =>
      typeof one === 'object' ? keysOf(one).map((k) => `${key}.${k}`) : [key],
    )
  // Error messages of the API are English already, so only German has texts for them.
  const german = keysOf(messages.de).filter((key) => !key.startsWith('errors.codes.'))
  expect(german).toEqual(keysOf(messages.en))
})
