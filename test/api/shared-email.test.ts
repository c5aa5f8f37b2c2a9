import { expect, test } from 'bun:test'
import { budget } from '../../src/budget.ts'
import { entity, everyone } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const PASSWORD = 'a long enough password'
const OTHER = 'another password, as long'

const declaration = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } }),
})

onEveryStore(
  'users of two types with one e-mail',
  declaration,
  (server) => {
    let addresses = 0
    const fresh = () => `198.51.100.${++addresses}`
    const logIn = (
      email: string,
      password: string,
      { address = fresh(), ...more }: Record<string, string> = {},
    ) => {
      const { device, ...extra } = more
      const headers = {
        'X-Forwarded-For': address,
        ...(device !== undefined && { 'Takeback-Device': device }),
      }
      return server.call('POST', '/api/auth/login', {
        body: { email, password, ...extra },
        token: null,
        headers,
      })
    }
    /** The password of the admin is `PASSWORD`, that of the user is `OTHER`. */
    const both = async (email: string) => {
      await server.member('admins', { email, password: PASSWORD })
      await server.member('users', { email, password: OTHER })
    }
    const typeOf = ({ body }: { body: any }) => body.user?.user_type ?? body.code

    test('have guesses of their own: where one has signed in is no known place of the other', async () => {
      await both('twins@example.com')
      const here = fresh()
      const mine = await logIn('twins@example.com', OTHER, { address: here, user_type: 'user' })
      const device = mine.headers.get('Takeback-Device') ?? ''
      for (let at = 0; at < budget.failuresElsewhere; at++)
        await logIn('twins@example.com', 'a wrong password', { device, user_type: 'admin' })
      for (const place of [{ device }, { address: here }, {}]) {
        const refused = await logIn('twins@example.com', PASSWORD, { ...place, user_type: 'admin' })
        expect([refused.status, typeOf(refused)]).toEqual([429, 'too_many_attempts'])
      }
      // Nor do guesses at one account keep the other out, with or without `user_type`.
      expect(typeOf(await logIn('twins@example.com', OTHER, { user_type: 'user' }))).toBe('user')
      expect(typeOf(await logIn('twins@example.com', OTHER))).toBe('user')
      expect(typeOf(await logIn('twins@example.com', PASSWORD))).toBe('too_many_attempts')
    })

    test('cannot guess the password of the other by changing their own', async () => {
      await both('guess@example.com')
      let [password, token] = [OTHER, '']
      for (let at = 0; at < budget.failuresElsewhere; at++) {
        const received = await logIn('guess@example.com', password)
        expect(typeOf(received)).toBe('user')
        token = received.body.token
        const next = `the next guess is number ${at}`
        await server.expect(200, 'POST', '/api/auth/password', { password, new_password: next }, { token })
        password = next
      }
      expect(typeOf(await logIn('guess@example.com', PASSWORD, { user_type: 'admin' }))).toBe(
        'too_many_attempts',
      )
      expect(typeOf(await logIn('guess@example.com', password))).toBe('user')
    })

    test('log in as often as they like, and that costs the other one guess', async () => {
      await both('often@example.com')
      const here = fresh()
      for (let at = 0; at < 2 * budget.failuresElsewhere; at++)
        expect(typeOf(await logIn('often@example.com', OTHER, { address: here }))).toBe('user')
      const [counted] = await server.query(
        "SELECT count(*) AS n FROM takeback_attempts WHERE outcome = 'beside'",
      )
      expect(typeOf(await logIn('often@example.com', PASSWORD))).toBe('admin')
      // The failures of one login count once for its address.
      for (let at = 0; at < 4; at++)
        await logIn(`nobody${at}@example.com`, 'a wrong password', { address: here })
      const [failed] = await server.query(
        "SELECT count(*) AS n FROM takeback_attempts WHERE address = $1 AND outcome = 'failed'",
        here,
      )
      expect([Number(counted?.n) > 0, Number(failed?.n)]).toEqual([true, 4])
    })
  },
  { 'trusted-proxies': '127.0.0.1' },
)
