import { budget } from '../../budget.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { refuseOthers } from '../account/account-link.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { closedObject, refTo, SYSTEM } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'

/** `GET /api/system/webhooks/` */
async function listWebhooks({ webhooks }: Context): Promise<Answer> {
  const states = Object.entries(await webhooks.state())
  const data = await Promise.all(
    states.map(async ([name, { to, waiting, aside }]) => ({
      name,
      to,
      waiting,
      aside,
      deliveries: await webhooks.deliveries(name, budget.pageDefault),
    })),
  )
  return { status: 200, body: JSON.stringify({ data }) }
}

/** `POST /api/system/webhooks/<name>/resend/` `{operation}` or `{aside: true}` */
async function resend({ webhooks }: Context, { params, body }: Call): Promise<Answer> {
  const { operation, aside } = body as Readonly<Record<string, unknown>>
  const errors: Errors = new Map()
  refuseOthers(body, ['operation', 'aside'], errors)
  if (aside !== undefined && aside !== true) addError(errors, 'aside', 'must be true')
  if (operation !== undefined && typeof operation !== 'string')
    addError(errors, 'operation', 'must be a text')
  if ((operation === undefined) === (aside === undefined))
    addError(errors, 'operation', 'is required, or else aside')
  if (errors.size > 0) throw invalid(errors)
  const name = params?.name ?? ''
  if (!webhooks.names.includes(name)) throw new Failure('not_found')
  if (aside === true) return resent(await webhooks.retryAside(name))
  if ((await webhooks.resend(name, String(operation))) === undefined) throw new Failure('not_found')
  return resent(1)
}

function resent(count: number): Answer {
  return { status: 200, body: JSON.stringify({ resent: count }) }
}

export const readWebhooks = serverEndpoint({
  name: 'listWebhooks',
  method: 'GET',
  path: '/api/system/webhooks/',
  tag: SYSTEM,
  parameters: [],
  access: 'admins',
  describe: () => ({
    summary: 'List webhooks',
    description: `How many operations wait for each webhook, how many were set aside, and the last ${budget.pageDefault} requests to it.`,
    answers: [{ status: 200, description: 'The webhooks.', headers: [], schema: refTo('Webhooks') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: listWebhooks,
})

export const postResend = serverEndpoint({
  name: 'resendWebhook',
  method: 'POST',
  path: '/api/system/webhooks/{name}/resend/',
  tag: SYSTEM,
  parameters: ['webhook'],
  body: 'object',
  access: 'admins',
  answer: 'kept',
  describe: () => ({
    summary: 'Send an operation to a webhook again',
    description: 'Sends an operation again, after those that wait; or with `aside` all that were set aside.',
    body: {
      schema: closedObject({ operation: { type: 'string' }, aside: { type: 'boolean', const: true } }, []),
      example: { aside: true },
    },
    answers: [
      {
        status: 200,
        description: 'How many operations will be sent again.',
        headers: [],
        schema: closedObject({ resent: { type: 'integer', minimum: 0 } }, ['resent']),
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'not_found', 'disk_full'],
  }),
  run: resend,
})
