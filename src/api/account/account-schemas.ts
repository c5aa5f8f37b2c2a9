import type { JsonSchema } from '../../declare/fields/field.ts'
import type { Model } from '../../declare/model.ts'
import { closedObject, refTo, schemaName } from '../description.ts'

const time: JsonSchema = { type: 'string', format: 'date-time' }
const someText: JsonSchema = { type: 'string', minLength: 1, maxLength: 1024 }
const code: JsonSchema = {
  ...someText,
  writeOnly: true,
  description: 'If the user has a second factor: a code of the authenticator app, or a recovery code.',
}
const password: JsonSchema = { ...someText, format: 'password', writeOnly: true }

function userTypeSchema({ logins }: Model): JsonSchema {
  return {
    type: ['string', 'null'],
    enum: [...logins.map(({ login }) => login?.userType), '', null],
    description: 'If absent, empty or `null`, all user types are tried.',
  }
}

function loginSchema(model: Model): JsonSchema {
  return closedObject({ email: someText, password, code, user_type: userTypeSchema(model) }, [
    'email',
    'password',
  ])
}

function loginByUsernameSchema(model: Model): JsonSchema {
  const rest = { password, code, user_type: userTypeSchema(model) }
  return {
    oneOf: [
      closedObject({ username: someText, ...rest }, ['username', 'password']),
      closedObject({ email: someText, ...rest }, ['email', 'password']),
    ],
  }
}

export const passwordExpiry: JsonSchema = {
  ...time,
  description: 'When the password expires. Present only if it is temporary; change it before then.',
}

export const acting: JsonSchema = {
  type: 'string',
  description: 'The admin who acts as this user, such as `admins/1`. Present only then.',
}

const loginAnswerSchema = closedObject(
  {
    token: { type: 'string', description: 'A JWT. Send it with later requests.' },
    user: refTo('User'),
    expires_at: time,
    password_expires_at: passwordExpiry,
  },
  ['token', 'user', 'expires_at'],
)

function userSchema(model: Model): JsonSchema {
  const named = model.logins.map(
    (type) => [type.login?.userType, refTo(schemaName(model, type, 'self'))] as const,
  )
  // An empty `oneOf` is not a valid schema. Without login types there are no users.
  if (named.length === 0) return { not: {} }
  return {
    description: 'The user that a token belongs to.',
    oneOf: named.map(([, ref]) => ref),
    discriminator: {
      propertyName: 'user_type',
      mapping: Object.fromEntries(named.map(([userType, { $ref }]) => [userType, $ref])),
    },
  }
}

const keysSchema: JsonSchema = {
  type: 'string',
  enum: ['keep', 'end'],
  description: '`end` also ends all keys of the user. Default: `keep`.',
}

const passwordChangeSchema = closedObject({ password, new_password: password, keys: keysSchema }, [
  'password',
  'new_password',
])

function forgotSchema(model: Model): JsonSchema {
  return closedObject({ email: someText, user_type: userTypeSchema(model) }, ['email'])
}

const linkToken: JsonSchema = { ...someText, writeOnly: true }
const passwordResetSchema = closedObject({ token: linkToken, password }, ['token', 'password'])
const emailChangeSchema = closedObject({ email: someText, password }, ['email'])
const linkTokenSchema = closedObject({ token: linkToken }, ['token'])

/** Login, its answer, the signed-in user, and a change of password. */
export function accountSchemas(model: Model): Record<string, JsonSchema> {
  return {
    Login: loginSchema(model),
    LoginByUsername: loginByUsernameSchema(model),
    LoginAnswer: loginAnswerSchema,
    User: userSchema(model),
    PasswordChange: passwordChangeSchema,
    Forgot: forgotSchema(model),
    PasswordReset: passwordResetSchema,
    LinkToken: linkTokenSchema,
    EmailChange: emailChangeSchema,
  }
}
