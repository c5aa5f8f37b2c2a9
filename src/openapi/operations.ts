import type { Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'
import { batchOperation } from './batch-operation.ts'
import { refTo } from './compose.ts'
import { entityOperations } from './entity-operations.ts'
import type { Operation, Success } from './operation.ts'
import { share } from './parameters.ts'
import { pastOperations } from './past-operations.ts'

export const SESSIONS = 'Sessions'
export const SERVICE = 'Service'

const CHANGE_PASSWORD = 'changePassword'

/** What can happen to any call, whatever it does. */
const ANYWHERE: readonly Code[] = [
  'malformed_header',
  'invalid_token',
  'password_change_required',
  'not_acceptable',
  'invalid_data',
  'rate_limited',
  'internal',
  'unavailable',
  'starting',
  'outdated',
]
const WITH_BODY: readonly Code[] = [
  'malformed_json',
  'abandoned',
  'not_an_object',
  'too_deep',
  'too_large',
  'unsupported_media_type',
  'unsupported_encoding',
]

/** Every call, in the order in which they are shown. */
export function operationsOf(model: Model): Operation[] {
  const entities = [...model.entities.values()].flatMap((type) => entityOperations(type, model))
  return [
    ...loginOperations(),
    ...tokenOperations(),
    ...entities,
    ...pastOperations(),
    batchOperation(model),
    ...serviceOperations(),
  ].map((operation) => ({
    ...operation,
    codes: [
      ...ANYWHERE.filter((code) => operation.id !== CHANGE_PASSWORD || code !== 'password_change_required'),
      ...(operation.body === undefined ? [] : WITH_BODY),
      ...operation.codes,
    ],
  }))
}

const session = { tag: SESSIONS, open: false, parameters: [], body: undefined } as const
const credentials = { email: 'ada@example.com', password: 'correct horse battery staple' }
const signedIn: Success = {
  status: 200,
  description: 'The token and its user.',
  headers: [],
  schema: refTo('LoginAnswer'),
}

function loginOperations(): Operation[] {
  const login = {
    ...session,
    method: 'POST',
    open: true,
    parameters: share('Takeback-Device'),
    answers: [{ ...signedIn, headers: ['Takeback-Device'] }],
    codes: ['login_failed', 'too_many_attempts', 'disk_full'],
  } as const
  return [
    {
      ...login,
      path: '/api/auth/login',
      id: 'login',
      summary: 'Log in',
      description:
        'Gives a token for an e-mail and a password. A wrong e-mail and a wrong password are answered alike.',
      body: { schema: refTo('Login'), example: credentials },
    },
    {
      ...login,
      path: '/api/login',
      id: 'loginByUsername',
      summary: 'Log in, with the e-mail as username',
      description: 'The same as `/api/auth/login`, for clients that say `username` for the e-mail.',
      body: {
        schema: refTo('LoginByUsername'),
        example: { username: credentials.email, password: credentials.password },
      },
    },
  ]
}

function tokenOperations(): Operation[] {
  return [
    {
      ...session,
      method: 'GET',
      path: '/api/auth/me',
      id: 'getUser',
      summary: 'Who the token stands for',
      description: 'The user that is signed in.',
      answers: [{ status: 200, description: 'The user.', headers: [], schema: refTo('User') }],
      codes: ['unauthenticated'],
    },
    {
      ...session,
      method: 'POST',
      path: '/api/auth/refresh',
      id: 'refreshToken',
      summary: 'A new token for a live one',
      description:
        'The new token is of the same session, which ends 30 days after its login. The token that was sent is refused from now on.',
      answers: [signedIn],
      codes: ['unauthenticated', 'disk_full'],
    },
    {
      ...session,
      method: 'POST',
      path: '/api/auth/logout',
      id: 'logout',
      summary: 'Log out',
      description: 'Ends the session: its tokens are refused from now on, on every instance.',
      answers: [{ status: 204, description: 'The session has ended.', headers: [] }],
      codes: ['unauthenticated', 'disk_full'],
    },
    {
      ...session,
      method: 'POST',
      path: '/api/auth/password',
      id: CHANGE_PASSWORD,
      summary: 'Change the password',
      description: 'Ends all sessions of the user, and gives a token of a new one.',
      body: {
        schema: refTo('PasswordChange'),
        example: { password: credentials.password, new_password: 'a longer and better password' },
      },
      answers: [{ ...signedIn, headers: ['Takeback-Operation'] }],
      codes: ['unauthenticated', 'too_many_attempts', 'disk_full'],
    },
  ]
}

function serviceOperations(): Operation[] {
  const plain = {
    method: 'GET',
    tag: SERVICE,
    open: true,
    parameters: [],
    body: undefined,
    codes: [],
  } as const
  return [
    {
      ...plain,
      path: '/api/health',
      id: 'getHealth',
      summary: 'Whether it is well',
      description: 'For balancers: 503 where requests should go to another server.',
      answers: [{ status: 200, description: 'It is well.', headers: [], schema: refTo('Health') }],
      codes: ['stopping'],
    },
    {
      ...plain,
      open: false,
      path: '/api/health/details',
      id: 'getHealthDetails',
      summary: 'How it is, for admins',
      description:
        'Every part with its state, since when it is so and what went wrong; sizes and connections of the database.',
      answers: [{ status: 200, description: 'How it is.', headers: [], schema: refTo('HealthDetails') }],
      codes: ['unauthenticated', 'forbidden'],
    },
    {
      ...plain,
      path: '/api/openapi.json',
      id: 'getDocument',
      summary: 'The OpenAPI document',
      description: 'This document: OpenAPI 3.1, made from the declarations.',
      answers: [
        {
          status: 200,
          description: 'The document.',
          headers: [],
          schema: { type: 'object', additionalProperties: true },
        },
      ],
    },
  ]
}
