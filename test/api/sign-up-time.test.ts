import { afterAll, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { app, entity, everyone } from '../../src/takeback.ts'
import { expectSameTime } from '../answer-times.ts'
import { ADMIN, onEveryStore } from '../harness.ts'
import { withStrongHashes } from '../hashes.ts'

withStrongHashes()

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', verify: true }, fields: {}, access: { create: everyone } }),
  },
})

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

const LONG = 3_600_000
const flags = { outbox, 'trusted-proxies': '127.0.0.1', 'rate-limit': 'signups=off,writes=off' }

onEveryStore(
  'the time of an answer',
  declaration,
  (server) => {
    const compare = (path: string, status: number, bodyOf: (email: string) => object) => {
      // Each round has its own account, because mails to one account are limited.
      const emailOf = (kind: string, round: number) =>
        `${kind}${round}${path.replaceAll('/', '-')}@example.com`
      return expectSameTime(server, {
        path,
        status,
        kinds: ['known', 'unknown'],
        async prepare(round) {
          await server.member('users', { email: emailOf('known', round) })
        },
        bodyOf: (kind, round) => bodyOf(emailOf(kind, round)),
      })
    }

    test(
      'to a sign-up does not tell whether the e-mail is taken',
      () => compare('/api/users/', 202, (email) => ({ email, password: ADMIN.password })),
      LONG,
    )

    test(
      'to a request for another link does not tell whether there is an account',
      () => compare('/api/auth/verify/send', 200, (email) => ({ email })),
      LONG,
    )

    test(
      'to a request for a new password does not tell whether there is an account',
      () => compare('/api/auth/password/forgot', 200, (email) => ({ email })),
      LONG,
    )
  },
  flags,
)
