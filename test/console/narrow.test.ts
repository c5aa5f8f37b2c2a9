import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { app, entity, everyone, integer, ref, signedIn, text } from '../../src/takeback.ts'
import { ADMIN, onOneStore, operationOf, type TestServer } from '../harness.ts'
import { expectSoon, openConsole } from './console.ts'

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin', second: 'optional' }, fields: {} }),
    users: entity({
      login: { userType: 'user' },
      fields: { name: text() },
      access: { create: everyone, read: 'id == me.id' },
    }),
    rooms: entity({
      label: 'Rooms with a rather long name',
      fields: { title: text(), beds: integer({ default: 1 }) },
      access: { read: signedIn },
    }),
    bookings: entity({
      fields: { guest: text(), room: ref('rooms', { as: 'bookings', onDelete: 'cascade' }) },
      access: { read: signedIn },
    }),
  },
  webhooks: {
    erp: {
      to: 'http://localhost:1/in',
      secret: `whsec_${btoa('0123456789abcdef01234567')}`,
      on: ['rooms.*'],
      allow: ['localhost:1'],
    },
  },
  jobs: { nightly: { every: '0 3 * * *', run() {} } },
})

/** Fills every field with words that cannot be wrapped. Returns the pages, each with a text that it comes to show. */
async function fill(server: TestServer): Promise<Record<string, string>> {
  const word = 'Donaudampfschifffahrtsgesellschaftskapitaen'
  const create = (path: string, body: object) => server.expect(201, 'POST', `/api/${path}`, body)
  const email = (name: string) => `${name}.${word}@verwaltungsgemeinschaft.example.com`
  await create('users/', { email: email('one'), name: `${word} ${word}`, password: ADMIN.password })
  await create('users/?invite=1', { email: email('two'), name: word })
  const { id } = await create('rooms/', { title: 'A very long title of a room with a view over the lake' })
  for (let at = 0; at < 3; at++) await create('bookings/', { guest: word, room: { id } })
  await create('auth/keys/', {
    name: word,
    can: { entities: { bookings: ['read', 'update', 'create'], rooms: ['read'] } },
    limits: { changes_per_hour: 1000, deletes_per_day: 10 },
  })
  const headers = { 'Takeback-Reason': word.repeat(3), 'Takeback-Run': word.repeat(3) }
  await server.expect(200, 'PATCH', `/api/rooms/${id}/`, { title: word.repeat(3) }, { headers })
  const deleted = operationOf(await server.call('DELETE', `/api/rooms/${id}/`))
  return {
    '/auth/account': 'section table td',
    '/auth/people?type=users': 'table .badge',
    '/auth/keys': 'table td',
    '/operations': 'li.operation .notes',
    [`/operations/${deleted}`]: '.facts',
    '/operations/trash': 'li.operation',
    [`/rooms/${id}`]: '.timeline .entry',
    '/system': '.diagram svg',
    '/system/rules': '.rules',
    '/system/health': 'table td',
    '/system/requests': 'table td',
    '/system/work': 'table td',
    '/system/migrations': 'h1',
  }
}

/** To be evaluated in a page: elements that scroll sideways as a whole, and controls that are out of sight. */
const ASTRAY = `(() => {
  const shown = [...document.querySelectorAll('a, button, input, select, summary')].filter((one) =>
    one.checkVisibility({ visibilityProperty: true }) && one.closest('.diagram, .skip') === null)
  const isOut = ({ left, right, width }) => width > 0 && (left < -1 || right > innerWidth + 1)
  const wholes = [document.scrollingElement, ...document.querySelectorAll('main, .dialog, .dialog-body')]
  return [
    ...wholes.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.tagName),
    ...shown.filter((one) => isOut(one.getBoundingClientRect())).map((one) => one.outerHTML),
  ]
})()`

onOneStore(
  'sqlite',
  'the console on a phone',
  declaration,
  (server) => {
    test('nothing is wider than the page, and every control is in sight', async () => {
      const pages = await fill(server)
      for (const { locale, width, manage } of [
        { locale: 'en-US', width: 360, manage: 'Manage' },
        { locale: 'de-DE', width: 390, manage: 'Verwalten' },
      ]) {
        const { page, open, go, close, expectAccessible } = await openConsole(server, {
          locale,
          viewport: { width, height: 740 },
          isMobile: true,
          hasTouch: true,
        })
        const expectFits = (where: string) =>
          expectSoon(async () => [where, await page.evaluate(ASTRAY)], [where, []])
        await open('/')
        for (const [path, sign] of Object.entries(pages)) {
          await go(path)
          await page.locator(`main ${sign}`).first().waitFor()
          await expectFits(`${path} ${width}`)
        }
        await go('/auth/people?type=users')
        await page.getByRole('button', { name: manage }).first().click()
        await page.getByRole('dialog').getByRole('button').first().waitFor()
        await expectFits(`a person ${width}`)
        if (width === 360) await expectAccessible()
        await close()
      }
      expect(Object.keys(pages).length).toBeGreaterThan(10)
    })
  },
  { outbox },
)
