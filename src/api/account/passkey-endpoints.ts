import type { JsonSchema } from '../../declare/fields/field.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { ownerConfirmed } from './confirm-owner.ts'
import { credentials } from './login.ts'
import {
  addPasskey,
  listPasskeys,
  logInByPasskey,
  loginOptions,
  registrationOptions,
  removePasskey,
} from './passkeys.ts'
import { signedInAnswer } from './sign-in.ts'

const own = { tag: SESSIONS, access: 'signed-in', ownLogin: true } as const
const open = { tag: SESSIONS, access: 'everyone', method: 'POST', parameters: [], body: 'object' } as const
const time: JsonSchema = { type: 'string', format: 'date-time' }
const anObject: JsonSchema = { type: 'object', additionalProperties: true }
const passkeySchema = closedObject(
  {
    id: { type: 'integer' },
    name: { type: 'string' },
    created_at: time,
    used_at: { type: ['string', 'null'], format: 'date-time' },
  },
  ['id', 'name', 'created_at', 'used_at'],
)
const sample = { id: 3, name: 'My phone', created_at: '2026-06-02T17:00:00.000Z', used_at: null }
const sampleCredential = {
  id: 'mXb1t7XfPpGkV9wYkqzJ0g',
  rawId: 'mXb1t7XfPpGkV9wYkqzJ0g',
  type: 'public-key',
  clientExtensionResults: {},
  response: { clientDataJSON: 'eyJ0eXBlIjoi…' },
}

function credentialOf(names: readonly string[]): JsonSchema {
  const text = { type: 'string' } as const
  return {
    type: 'object',
    description: 'What the browser made, as `credential.toJSON()` returns it.',
    properties: {
      id: text,
      response: {
        type: 'object',
        properties: Object.fromEntries(names.map((name) => [name, text])),
        required: ['clientDataJSON'],
      },
    },
    required: ['id', 'response'],
  }
}

export const readPasskeys = serverEndpoint({
  ...own,
  name: 'listPasskeys',
  method: 'GET',
  path: '/api/auth/passkeys/',
  parameters: ['user'],
  withoutFactor: true,
  schemas: () => ({
    Passkey: passkeySchema,
    Passkeys: closedObject({ data: { type: 'array', items: refTo('Passkey') } }, ['data']),
    PasskeyOptions: anObject,
    PasskeyRegistration: closedObject(
      {
        name: { type: 'string', minLength: 1, maxLength: 100 },
        credential: credentialOf(['clientDataJSON', 'attestationObject']),
      },
      ['name', 'credential'],
    ),
    PasskeyLogin: closedObject(
      { credential: credentialOf(['clientDataJSON', 'authenticatorData', 'signature']) },
      ['credential'],
    ),
  }),
  describe: () => ({
    summary: 'List passkeys',
    description: 'The passkeys of the user. Admins can ask for somebody else.',
    answers: [
      {
        status: 200,
        description: 'The passkeys.',
        headers: [],
        schema: refTo('Passkeys'),
        example: { data: [sample] },
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'not_found'],
  }),
  run: listPasskeys,
})

export const makePasskeyOptions = serverEndpoint({
  ...own,
  name: 'makePasskeyOptions',
  method: 'POST',
  path: '/api/auth/passkeys/options',
  parameters: [],
  body: 'object',
  withoutFactor: true,
  answer: 'secret',
  describe: () => ({
    summary: 'Begin to add a passkey',
    description: `Returns the options for \`navigator.credentials.create\`: pass them to \`PublicKeyCredential.parseCreationOptionsFromJSON\`. They are valid for five minutes, once. ${ownerConfirmed}`,
    body: { schema: refTo('Password'), example: { password: credentials.password } },
    answers: [
      {
        status: 200,
        description: 'The options, as WebAuthn defines them.',
        headers: [],
        schema: refTo('PasskeyOptions'),
        example: { rp: { id: 'example.com', name: 'example.com' }, challenge: 'mXb1t7XfPpGk…' },
      },
    ],
    codes: ['unauthenticated', 'recent_login_required', 'too_many_attempts', 'disk_full'],
  }),
  run: registrationOptions,
})

export const registerPasskey = serverEndpoint({
  ...own,
  name: 'addPasskey',
  method: 'POST',
  path: '/api/auth/passkeys/',
  parameters: [],
  body: 'object',
  withoutFactor: true,
  answer: 'kept',
  describe: () => ({
    summary: 'Add a passkey',
    description: 'Takes what the browser made from the options, and a name for people to recognise it by.',
    body: {
      schema: refTo('PasskeyRegistration'),
      example: { name: 'My phone', credential: sampleCredential },
    },
    answers: [
      {
        status: 201,
        description: 'The passkey.',
        headers: ['Location'],
        schema: refTo('Passkey'),
        example: sample,
      },
    ],
    codes: ['unauthenticated', 'passkey_failed', 'disk_full'],
  }),
  run: addPasskey,
})

export const dropPasskey = serverEndpoint({
  ...own,
  name: 'removePasskey',
  method: 'DELETE',
  path: '/api/auth/passkeys/{id}/',
  parameters: ['passkey', 'user'],
  answer: 'kept',
  describe: () => ({
    summary: 'Remove a passkey',
    description: 'Nobody can log in with it afterwards. Admins can remove passkeys of somebody else.',
    answers: [{ status: 204, description: 'Removed.', headers: [] }],
    codes: ['unauthenticated', 'forbidden', 'not_found', 'disk_full'],
  }),
  run: removePasskey,
})

export const makeLoginOptions = serverEndpoint({
  ...open,
  name: 'makePasskeyLoginOptions',
  path: '/api/auth/passkeys/login/options',
  answer: 'secret',
  describe: () => ({
    summary: 'Begin a login with a passkey',
    description:
      'Returns the options for `navigator.credentials.get`: pass them to `PublicKeyCredential.parseRequestOptionsFromJSON`. They are the same for everybody, and valid for five minutes, once.',
    body: { schema: closedObject({}, []), example: {} },
    answers: [
      {
        status: 200,
        description: 'The options, as WebAuthn defines them.',
        headers: [],
        schema: refTo('PasskeyOptions'),
        example: { rpId: 'example.com', challenge: 'mXb1t7XfPpGk…', userVerification: 'required' },
      },
    ],
    codes: [],
  }),
  run: loginOptions,
})

export const passkeyLogin = serverEndpoint({
  ...open,
  name: 'loginByPasskey',
  path: '/api/auth/passkeys/login',
  answer: 'token',
  describe: () => ({
    summary: 'Log in with a passkey',
    description: 'Takes what the browser made from the options. A passkey counts as two factors.',
    body: { schema: refTo('PasskeyLogin'), example: { credential: sampleCredential } },
    answers: [signedInAnswer],
    codes: ['passkey_failed', 'unverified', 'too_many_attempts', 'disk_full'],
  }),
  run: logInByPasskey,
})
