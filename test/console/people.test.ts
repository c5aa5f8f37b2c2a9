import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Route } from 'playwright-core'
import { app, entity, everyone, signedIn, text } from '../../src/takeback.ts'
import { ADMIN, eventually, onOneStore } from '../harness.ts'
import { anHourLater } from '../old-session.ts'
import { codesOf } from '../totp-codes.ts'
import { expectSoon, lookAway, openConsole, signIn } from './console.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin', second: 'optional' }, fields: {} }),
    users: entity({
      login: { userType: 'user' },
      fields: { name: text() },
      access: { create: everyone, read: 'id == me.id' },
    }),
    staff: entity({ login: { userType: 'staff', second: 'required' }, fields: {} }),
    notes: entity({ fields: { title: text() }, access: { read: signedIn, create: signedIn } }),
  },
})

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))
const HOSTILE = '<img src=x onerror=alert(1)> "\u202eevil'

onOneStore(
  'postgres',
  'people in the console',
  declaration,
  (server) => {
    test('sign in by password and code, after they have set up an app', async () => {
      const { page, open, close, expectAccessible } = await openConsole(server, { token: null })
      await open('/')
      await page.getByLabel('E-mail', { exact: true }).waitFor()
      await expectAccessible()
      await signIn(page, ADMIN.email, 'wrong')
      await page.getByRole('alert').waitFor()
      await signIn(page, ADMIN.email, ADMIN.password)
      await page.getByRole('link', { name: ADMIN.email }).click()
      const factor = page.locator('section', { has: page.getByRole('heading', { name: 'Second factor' }) })
      await factor.getByLabel('Current password').fill(ADMIN.password)
      await factor.getByRole('button', { name: 'Set up an app' }).click()
      const secret = await factor.locator('code').innerText()
      await factor.getByLabel('Code', { exact: true }).fill(codesOf(secret)(0))
      await factor.getByRole('button', { name: 'Switch it on' }).click()
      // A refetch of the page must not remove the codes.
      const codes = await page.getByRole('dialog').locator('pre').innerText()
      await lookAway(page, '/api/auth/totp/')
      for (let time = 0; time < 2; time++) await page.keyboard.press('Escape')
      expect(await page.getByRole('dialog').locator('pre').innerText()).toBe(codes)
      await expectAccessible()
      await page.getByRole('button', { name: 'I have saved them' }).click()
      await factor.getByText('10 recovery codes left').waitFor()
      await expectAccessible()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await signIn(page, ADMIN.email, ADMIN.password)
      await page.getByLabel('Code').fill(codesOf(secret)(1))
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('heading', { name: 'Your account' }).waitFor()
      await close()
    })

    test('set up what they must before anything else', async () => {
      await server.expect(201, 'POST', '/api/staff/', { email: 'sue@example.com', password: ADMIN.password })
      const { page, open, close, expectAccessible } = await openConsole(server, { token: null })
      await open('/')
      await signIn(page, 'sue@example.com', ADMIN.password)
      await page.getByText('needs a second factor').waitFor()
      await expectAccessible()
      await page.getByLabel('Current password').fill(ADMIN.password)
      await page.getByRole('button', { name: 'Set up an app' }).click()
      const secret = await page.locator('code').innerText()
      // The user looks up the code in another app.
      await lookAway(page)
      await page.getByLabel('Code', { exact: true }).fill(codesOf(secret)(0))
      await page.getByRole('button', { name: 'Switch it on' }).click()
      await page.getByRole('button', { name: 'I have saved them' }).click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      // A temporary password that has expired.
      const { id } = await server.user('users', { email: 'old@example.com', name: 'Old' })
      const [row] = await server.query('SELECT password FROM users WHERE id = $1', Number(id))
      await server.context.temporary.mark('users', Number(id), String(row?.password))
      const past = new Date(Date.now() - 1000).toISOString()
      await server.query('UPDATE takeback_temporary_passwords SET until = $1', past)
      await signIn(page, 'old@example.com', ADMIN.password)
      await page.getByText('Choose your own password').waitFor()
      await page.getByLabel('Current password').fill(ADMIN.password)
      await page.getByLabel('New password').fill('another horse battery')
      await page.getByRole('button', { name: 'Set the password' }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await page.getByRole('navigation', { name: 'Main navigation' }).waitFor()
      await close()
    })

    test('sign in with a passkey that they have made', async () => {
      // Passkeys belong to a host name, not to an IP address.
      const { token } = await server.user('users', { email: 'key@example.com', name: 'Kay' })
      const { page, open, close } = await openConsole(server, { token, host: 'localhost' })
      const protocol = await page.context().newCDPSession(page)
      await protocol.send('WebAuthn.enable')
      await protocol.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      await open('/')
      await page.getByRole('link', { name: 'Kay' }).click()
      const passkeys = page.locator('section', { has: page.getByRole('heading', { name: 'Passkeys' }) })
      await passkeys.getByLabel('Name of the device').fill(HOSTILE)
      await passkeys.getByLabel('Current password').fill(ADMIN.password)
      await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
      await passkeys.getByRole('listitem').waitFor()
      expect(await passkeys.getByRole('listitem').innerText()).toContain(HOSTILE)
      await page.getByText('Forgot your password?').click()
      await page.getByRole('button', { name: 'Send the link' }).click()
      await page.getByText('If there is an account with key@example.com').waitFor()
      // The password does not stay on the page. An account without one leaves it out.
      await expectSoon(() => passkeys.getByLabel('Current password').inputValue(), '')
      const sent = page.waitForRequest('**/api/auth/passkeys/options')
      await passkeys.getByLabel('Name of the device').fill('Another')
      await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
      expect((await sent).postDataJSON()).toEqual({})
      await passkeys.getByText('is required').waitFor()
      // If it cannot be removed, the page says why.
      const refusal = { message: 'This is the last way to log in. Set a password first.', code: 'last_login' }
      const refuse = (route: Route) => route.fulfill({ status: 409, json: refusal })
      await page.route('**/api/auth/passkeys/*/', refuse, { times: 1 })
      await passkeys.getByRole('listitem').getByRole('button').click()
      await passkeys.getByText(refusal.message).waitFor()
      await page.route('**/api/auth/sessions/*/', refuse, { times: 1 })
      const login = { email: 'key@example.com', password: ADMIN.password }
      await server.expect(200, 'POST', '/api/auth/login', login, { token: null })
      await page.reload()
      await page.getByRole('button', { name: 'End', exact: true }).click()
      await page.getByText(refusal.message).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.getByRole('heading', { name: 'Your account' }).waitFor()
      await protocol.detach()
      await close()
    })

    test('are invited, seen, and acted for', async () => {
      const { id, token } = await server.user('users', { email: 'ann@example.com', name: HOSTILE })
      const { page, open, go, close, expectAccessible } = await openConsole(server)
      await open('/auth/people?type=users')
      await page.getByRole('button', { name: 'Invite somebody' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('E-mail').fill('ann@example.com')
      await dialog.getByLabel('Name').fill('Bob')
      await dialog.getByRole('button', { name: 'Send the invitation' }).click()
      await dialog.getByText('is taken').waitFor()
      await dialog.getByLabel('E-mail').fill('bob@example.com')
      await dialog.getByRole('button', { name: 'Send the invitation' }).click()
      await page.getByText('bob@example.com is invited.').waitFor()
      const bob = page.getByRole('row', { name: /bob@example.com/ })
      await bob.getByText('invited', { exact: true }).waitFor()
      await expectAccessible()
      await bob.getByRole('button', { name: 'Manage' }).click()
      await dialog.getByRole('button', { name: 'Send the invitation again' }).click()
      await page.getByText('A new invitation is on its way to bob@example.com.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      const ann = page.getByRole('row', { name: /ann@example.com/ })
      expect(await ann.innerText()).toContain(HOSTILE)
      await ann.getByRole('button', { name: 'Manage' }).click()
      await dialog.getByRole('button', { name: 'End', exact: true }).click()
      await eventually(async () => (await server.call('GET', '/api/auth/me', { token })).status === 401)
      await dialog.getByRole('button', { name: 'See as they do' }).click()
      await page.getByText('You see and do everything as').waitFor()
      await expectSoon(() => page.getByRole('navigation').getByRole('link', { name: 'System' }).count(), 0)
      await page.getByRole('button', { name: 'Act as yourself again' }).click()
      await page.getByRole('navigation').getByRole('link', { name: 'System' }).waitFor()
      // The page says that a secret was changed, but not its value.
      await server.expect(200, 'PATCH', `/api/users/${id}/`, { password: 'another horse battery' })
      await go(`/users/${id}`)
      await page.getByText('Password changed; its value is never shown').waitFor()
      await close()
    })

    test('give keys to programs, end them, and take back what these did', async () => {
      const { page, open, close, expectAccessible } = await openConsole(server)
      await open('/auth/keys')
      await page.getByText('No keys yet').waitFor()
      await page.getByRole('button', { name: 'New key' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Import')
      await dialog.getByLabel('Only what I choose').check()
      await dialog.getByLabel('Notes: Create').check()
      await dialog.getByLabel('Notes: Read').check()
      await dialog.getByLabel('Changes per hour').fill('100')
      await expectAccessible()
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const key = await dialog.locator('pre').first().innerText()
      await lookAway(page, '/api/auth/keys/')
      await dialog.getByRole('button', { name: 'Done' }).click()
      const made = await server.call('POST', '/api/notes/', { body: { title: HOSTILE }, token: key })
      expect(made.status).toBe(201)
      const row = page.getByRole('row', { name: /Import/ })
      expect(await row.innerText()).toContain('100 changes per hour')
      await row.getByRole('button', { name: 'End key' }).click()
      await dialog.getByRole('button', { name: 'Show what would be undone' }).click()
      await dialog.getByText('1 operation with 1 change would').waitFor()
      await dialog.getByRole('button', { name: 'End it and undo its work' }).click()
      await page.getByText('No keys yet').waitFor()
      expect((await server.call('GET', '/api/notes/', { token: key })).status).toBe(401)
      expect((await server.expect(200, 'GET', '/api/notes/')).data).toEqual([])
      await close()
    })

    test('confirm with their password that they make a key, if their login is old', async () => {
      const { token } = await server.user('users', { email: 'old.login@example.com', name: 'Ada' })
      const opening = { token: await anHourLater(server, token) }
      const { page, open, close, expectAccessible } = await openConsole(server, opening)
      await open('/auth/keys')
      await page.getByRole('button', { name: 'New key' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Import')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByRole('alert').waitFor()
      await expectAccessible()
      await dialog.getByLabel('Current password').fill('a guess')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('is wrong').waitFor()
      await dialog.getByLabel('Current password').fill(ADMIN.password)
      await dialog.getByRole('button', { name: 'Create key' }).click()
      expect(await dialog.locator('pre').first().innerText()).toMatch(/^tb_/)
      await dialog.getByRole('button', { name: 'Done' }).click()
      await page.getByRole('row', { name: /Import/ }).waitFor()
      await close()
    })
  },
  { outbox },
)
