import type { Model } from '../../declare/model.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { ownerConfirmed } from './confirm-owner.ts'
import { credentials } from './login.ts'
import { beginFactor, confirmFactor, factorState, removeFactor, renewRecoveryCodes } from './totp.ts'

const someText = { type: 'string', minLength: 1, maxLength: 1024, writeOnly: true } as const
const password = { ...someText, format: 'password' } as const
const sampleCodes = ['J4KQ-WZ7M-2XVB-TN5C', 'ORUG-65DF-NZSC-A3LP']
const common = { tag: SESSIONS, access: 'signed-in', ownLogin: true } as const
const failures = ['unauthenticated', 'not_found', 'too_many_attempts', 'disk_full'] as const
const changed = {
  status: 200,
  description: 'Ten recovery codes. They are shown only now; each works once.',
  headers: [],
  schema: refTo('RecoveryCodes'),
  example: { recovery_codes: sampleCodes },
} as const
/** The body of calls that require the password or a code. */
const proofBody = { schema: refTo('Proof'), example: { password: credentials.password } }

export const readFactor = serverEndpoint({
  ...common,
  name: 'getSecondFactor',
  method: 'GET',
  path: '/api/auth/totp/',
  parameters: ['user'],
  withoutFactor: true,
  schemas: (_: Model) => ({
    SecondFactor: closedObject(
      {
        active: { type: 'boolean' },
        since: { type: ['string', 'null'], format: 'date-time' },
        recovery_codes: { type: 'integer', minimum: 0, description: 'How many are left.' },
      },
      ['active', 'since', 'recovery_codes'],
    ),
    SecondFactorSecret: closedObject(
      {
        secret: { type: 'string', description: 'In base32, to be typed in.' },
        uri: { type: 'string', description: 'The same as an `otpauth:` address, to be shown as a QR code.' },
      },
      ['secret', 'uri'],
    ),
    RecoveryCodes: closedObject({ recovery_codes: { type: 'array', items: { type: 'string' } } }, [
      'recovery_codes',
    ]),
    Password: closedObject({ password }, []),
    Code: closedObject({ code: someText }, ['code']),
    Proof: { oneOf: [closedObject({ password }, ['password']), closedObject({ code: someText }, ['code'])] },
  }),
  describe: () => ({
    summary: 'Second factor',
    description: 'Whether there is a second factor. Admins can ask for somebody else.',
    answers: [
      {
        status: 200,
        description: 'Whether it is set up, since when, and how many recovery codes are left.',
        headers: [],
        schema: refTo('SecondFactor'),
        example: { active: true, since: '2026-06-02T17:00:00.000Z', recovery_codes: 9 },
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'not_found'],
  }),
  run: factorState,
})

export const setUpFactor = serverEndpoint({
  ...common,
  name: 'setUpSecondFactor',
  method: 'POST',
  path: '/api/auth/totp/',
  parameters: [],
  body: 'object',
  withoutFactor: true,
  answer: 'secret',
  describe: () => ({
    summary: 'Set up a second factor',
    description: `Returns a secret for an authenticator app. Logins do not ask for a code until one was confirmed. ${ownerConfirmed}`,
    body: { schema: refTo('Password'), example: { password: credentials.password } },
    answers: [
      {
        status: 200,
        description: 'The secret. It is shown only now.',
        headers: [],
        schema: refTo('SecondFactorSecret'),
        example: {
          secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
          uri: 'otpauth://totp/example.com:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=example.com&algorithm=SHA1&digits=6&period=30',
        },
      },
    ],
    codes: [...failures, 'recent_login_required', 'second_factor_exists'],
  }),
  run: beginFactor,
})

export const confirmSetUp = serverEndpoint({
  ...common,
  name: 'confirmSecondFactor',
  method: 'POST',
  path: '/api/auth/totp/confirm',
  parameters: [],
  body: 'object',
  withoutFactor: true,
  answer: 'secret',
  describe: () => ({
    summary: 'Confirm the second factor',
    description: 'Takes a code of the authenticator app. From now on logins with a password ask for one.',
    body: { schema: refTo('Code'), example: { code: '287082' } },
    answers: [changed],
    codes: [...failures, 'second_factor_exists', 'second_factor_failed'],
  }),
  run: confirmFactor,
})

export const makeRecoveryCodes = serverEndpoint({
  ...common,
  name: 'makeRecoveryCodes',
  method: 'POST',
  path: '/api/auth/totp/recovery-codes',
  parameters: [],
  body: 'object',
  answer: 'secret',
  describe: () => ({
    summary: 'Make new recovery codes',
    description: 'Takes the password or a code. The old recovery codes stop working.',
    body: proofBody,
    answers: [changed],
    codes: [...failures, 'second_factor_failed'],
  }),
  run: renewRecoveryCodes,
})

export const dropFactor = serverEndpoint({
  ...common,
  name: 'removeSecondFactor',
  method: 'DELETE',
  path: '/api/auth/totp/',
  parameters: ['user'],
  body: 'optional',
  answer: 'kept',
  describe: () => ({
    summary: 'Remove the second factor',
    description:
      'Takes the password or a code. With `user`, admins remove the second factor of somebody else, without a body.',
    body: proofBody,
    answers: [{ status: 204, description: 'Logins no longer ask for a code.', headers: [] }],
    codes: [...failures, 'forbidden', 'second_factor_failed'],
  }),
  run: removeFactor,
})
