import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noSession } from '../../src/account/sessions.ts'
import { loginAccount } from '../../src/account/throttle.ts'
import { stepAt, totpCode } from '../../src/account/totp.ts'
import { emailKey } from '../../src/declare/email-key.ts'
import { app, entity } from '../../src/takeback.ts'
import { expectSameTime } from '../answer-times.ts'
import { ADMIN, onEveryStore } from '../harness.ts'
import { withStrongHashes } from '../hashes.ts'

withStrongHashes()

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', verify: true, second: 'optional' }, fields: {} }),
  },
})

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

const kinds = ['unknown', 'known', 'protected', 'unverified', 'deleted'] as const
const emailOf = (kind: (typeof kinds)[number]) => `${kind}@example.com`

onEveryStore(
  'a login with a wrong password',
  declaration,
  (server) => {
    beforeAll(async () => {
      // Not with `server.member`, whose hashes are weaker and faster.
      const add = (kind: (typeof kinds)[number], query = '?verified=1') =>
        server.expect(201, 'POST', `/api/users/${query}`, { email: emailOf(kind), password: ADMIN.password })
      await add('known')
      await add('unverified', '')
      const owner = { entity: 'users', id: (await add('protected')).id }
      const { factors } = server.context
      const secret = await factors.begin(owner)
      const codes = secret && (await factors.confirm(owner, totpCode(secret, stepAt(Date.now())), noSession))
      expect(codes).toHaveLength(10)
      const { id } = await add('deleted')
      await server.expect(200, 'DELETE', `/api/users/${id}/`)
    })

    test(
      'takes the same time for everybody: known, unknown, with a second factor, unverified, deleted',
      () =>
        expectSameTime(server, {
          path: '/api/auth/login',
          status: 422,
          kinds,
          // Resets the throttle, so that each round is the first attempt for each account.
          async prepare() {
            const { throttle, model } = server.context
            for (const type of model.logins)
              for (const kind of kinds) await throttle.unlock(loginAccount(type, emailKey(emailOf(kind))))
          },
          bodyOf: (kind) => ({ email: emailOf(kind), password: 'not the right one', user_type: 'user' }),
        }),
      3_600_000,
    )
  },
  { outbox, 'trusted-proxies': '127.0.0.1' },
)
