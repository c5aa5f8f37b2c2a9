import { budget } from '../../budget.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { invalidAt } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { badToken } from './identify.ts'
import { signedInUser } from './session.ts'

/** `GET /api/auth/preferences/` */
async function readKept(context: Context, { caller }: Call): Promise<Answer> {
  const { plan, id } = await signedInUser(context, caller)
  return { status: 200, body: await context.preferences.read({ entity: plan.type.name, id }) }
}

/** `PUT /api/auth/preferences/` */
async function replace(context: Context, { caller, body }: Call): Promise<Answer> {
  const { plan, id } = await signedInUser(context, caller)
  const json = JSON.stringify(body)
  if (Buffer.byteLength(json) > budget.preferencesBytes)
    throw invalidAt('', `must have at most ${budget.preferencesBytes} bytes`)
  if (!(await context.preferences.write({ entity: plan.type.name, id }, json))) throw badToken()
  return { status: 200, body: json }
}

const anything: JsonSchema = { type: 'object', additionalProperties: true }
const answers = [{ status: 200, description: 'The preferences.', headers: [], schema: anything }]
const common = {
  path: '/api/auth/preferences/',
  tag: SESSIONS,
  parameters: [],
  access: 'signed-in',
  ownLogin: true,
} as const

export const readPreferences = serverEndpoint({
  ...common,
  name: 'getPreferences',
  method: 'GET',
  describe: () => ({
    summary: 'Read your preferences',
    description: 'What programs store for the user who calls: one JSON object, `{}` at first.',
    answers,
    codes: ['unauthenticated', 'own_login_required'],
  }),
  run: readKept,
})

export const putPreferences = serverEndpoint({
  ...common,
  name: 'putPreferences',
  method: 'PUT',
  body: 'object',
  answer: 'kept',
  describe: () => ({
    summary: 'Store your preferences',
    description: `Replaces them. At most ${budget.preferencesBytes} bytes of JSON. They are not in the journal, and a purge of the user erases them.`,
    body: { schema: anything, example: { language: 'de', theme: 'dark' } },
    answers,
    codes: ['unauthenticated', 'own_login_required', 'disk_full'],
  }),
  run: replace,
})
