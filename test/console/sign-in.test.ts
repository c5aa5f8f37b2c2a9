import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { offerToken, openOffer } from '../../src/api/account/first-admin.ts'
import { addUser } from '../../src/cli/user.ts'
import { app, datetime, entity, everyone, object, ref, signedIn, text } from '../../src/takeback.ts'
import { ADMIN, TestServer } from '../harness.ts'
import { mailAfter, mailsIn, tokenIn } from '../mailbox.ts'
import { CLIENT, TestProvider } from '../oidc.ts'
import { expectSoon, KNOWN, openConsole } from './console.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', providers: { test: ({ name }) => ({ name }) } },
      fields: { name: text() },
      access: { create: everyone, read: 'id == me.id' },
    }),
    rooms: entity({ fields: { title: text() }, access: { read: signedIn } }),
    bookings: entity({
      fields: {
        room: ref('rooms'),
        starts_at: datetime(),
        address: object({ zip: text({ pattern: '^[0-9]{5}$', example: '10115' }) }),
      },
      unique: [['room.id', 'starts_at']],
    }),
  },
})

const PASSWORD = 'four random words here'

// The browser's part does not depend on the database.
describe('ways into the console', () => {
  const provider = new TestProvider()
  const flags: Record<string, string> = {}
  const server = new TestServer('sqlite', declaration, flags)
  beforeAll(async () => {
    await provider.start(() => [`${server.url}/api/auth/providers/test/callback`])
    flags.TAKEBACK_OIDC_TEST = `${provider.issuer},${CLIENT.id},${CLIENT.secret}`
    flags.outbox = join(server.folder, 'outbox')
    await server.start()
  })
  afterAll(async () => {
    provider.stop()
    await server.remove()
  })

  const invited = async (email: string) => {
    const count = mailsIn(flags.outbox ?? '').length
    await server.expect(201, 'POST', '/api/admins/?invite=1', { email })
    return `${server.url}/account/invite?link=${tokenIn(await mailAfter(flags.outbox ?? '', count))}`
  }

  test('a provider signs somebody in, or says no, and there is a way on', async () => {
    const { page, open, close, expectAccessible } = await openConsole(server, { token: null })
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const start = page.getByRole('button', { name: 'Sign in with Test' })
    await open('/')
    await start.click()
    await page.getByText('The sign-in was cancelled at the provider.').waitFor()
    expect(asked).not.toContain('/api/auth/me')
    await expectSoon(async () => new URL(page.url()).search, '')
    await expectAccessible()
    await page.getByRole('button', { name: 'Back to sign in' }).click()
    provider.users.set('una', { email: 'una@example.com', email_verified: true })
    provider.user = 'una'
    await start.click()
    await page.getByText('The provider did not send everything that a new account needs.').waitFor()
    await page.getByRole('button', { name: 'Back to sign in' }).click()
    provider.users.set('vera', { email: 'vera@example.com', email_verified: true, name: 'Vera' })
    provider.user = 'vera'
    // The provider would remember the last user.
    await page.context().clearCookies()
    await start.click()
    await page.getByRole('link', { name: 'Vera' }).waitFor()
    // A callback of a login that nobody has started.
    await page.goto(`${server.url}/api/auth/providers/test/callback?state=unknown&code=unknown`)
    await page.getByRole('alert').getByText('The login has expired').waitFor()
    await expectAccessible()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Vera' }).waitFor()
    await close()
  })

  test('an invitation sets the password, and leads to the console', async () => {
    const link = await invited('ivy@example.com')
    const inGerman = async () =>
      (await fetch(link, { headers: { 'Accept-Language': 'de-CH,de;q=0.9,en;q=0.8' } })).text()
    expect(await inGerman()).toContain('<h1>Ihr Passwort setzen</h1>')
    const { page, close, expectAccessible } = await openConsole(server, { token: null })
    await page.goto(link)
    await page.getByText('At least 12 characters.').waitFor()
    await expectAccessible()
    const set = async (password: string) => {
      await page.getByLabel('New password').fill(password)
      await page.getByRole('button', { name: 'Set the password' }).click()
    }
    await set('short')
    await page.getByRole('alert').getByText('The password must have at least 12 characters').waitFor()
    await set(PASSWORD)
    await page.getByRole('status').getByText('You can log in with it now.').waitFor()
    await expectAccessible()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('E-mail', { exact: true }).fill('ivy@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('link', { name: 'ivy@example.com' }).first().waitFor()
    await page.goto(link)
    await page.getByRole('alert').getByText('The link is wrong, has expired or was used already.').waitFor()
    expect(await page.getByLabel('New password').count()).toBe(0)
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    expect(await inGerman()).toContain('Der Link ist falsch, abgelaufen oder wurde schon benutzt.')
    await close()
  })

  test('all tabs of a browser have one session', async () => {
    const { page, open, close } = await openConsole(server, { token: null })
    await open('/')
    const other = await page.context().newPage()
    await other.goto(`${server.url}/console/rooms`)
    await other.getByLabel('E-mail', { exact: true }).waitFor()
    await page.getByLabel('E-mail', { exact: true }).fill(ADMIN.email)
    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await other.getByRole('heading', { name: 'Rooms' }).waitFor()
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('E-mail', { exact: true }).waitFor()
    await close()
  })

  test('a session that ends shows nothing but the form to sign in, whatever is opened in that moment', async () => {
    const { page, open, close } = await openConsole(server)
    for (const path of ['/auth/account', '/rooms']) {
      await open('/')
      await page.getByRole('heading', { level: 1 }).waitFor()
      // As a message of another tab does. The page already shows the next path before it hears of it.
      await page.evaluate(
        `(${KNOWN}.setQueryData(['me'], null), history.pushState(null, '', '/console${path}'))`,
      )
      await page.getByLabel('E-mail').waitFor()
    }
    await close()
  })

  test('the first admin pastes the link that the terminal shows', async () => {
    const fresh = new TestServer('sqlite', declaration)
    fresh.adminToken = 'none'
    await fresh.start()
    try {
      const printed = await addUser(fresh, 'admins', { email: 'admin@example.com', password: PASSWORD })
      await fresh.context.firstAdmin.make(Number(printed.split('/')[1]))
      const offer = await openOffer(fresh.context)
      const { page, open, close, expectAccessible } = await openConsole(fresh, { token: null })
      await open('/')
      await page.getByRole('button', { name: 'Sign in with the account that the terminal shows' }).click()
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
      await page.reload()
      await page.getByLabel('E-mail', { exact: true }).fill('ada@example.com')
      await page.getByLabel('New password').fill('correct horse battery')
      const link = `${fresh.url}/console/#first-admin=${offer && offerToken(fresh.context, offer)}`
      await page.getByLabel('Link from the terminal').fill(link)
      await expectAccessible()
      await page.getByRole('button', { name: 'Create and sign in' }).click()
      await page.getByRole('link', { name: 'ada@example.com' }).first().waitFor()
      await close()
    } finally {
      await fresh.remove()
    }
  })

  test('a form says what is taken by what, and shows no pattern to people', async () => {
    const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'Attic' })
    const body = { room: { id: room.id }, starts_at: '2027-05-01T12:00:00Z', address: { zip: '10115' } }
    const { id } = await server.expect(201, 'POST', '/api/bookings/', body)
    const { page, open, close } = await openConsole(server)
    await open(`/bookings/${id}`)
    await page.getByRole('heading', { name: `Bookings #${id}` }).waitFor()
    await page.getByRole('button', { name: 'Duplicate' }).click()
    await page.getByLabel('Zip').fill('1')
    await page.getByRole('button', { name: /^Create/ }).click()
    await page.getByText('must have the form of 10115').waitFor()
    const taken = page.locator('.wrong', { hasText: 'together with Starts at' })
    await expectSoon(() => taken.innerText(), `Is taken by Bookings #${id}, together with Starts at`)
    expect(await taken.getByRole('link').getAttribute('href')).toBe(`/console/bookings/${id}`)
    expect(await page.getByText('[0-9]').count()).toBe(0)
    await close()
  })
})
