import { isDigestOf, type ReturnedCode } from '../../account/providers/handoffs.ts'
import type { Attempt } from '../../account/throttle.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { takeText } from './login.ts'
import { hasFactor, provenTwice, refuseOvertaken } from './second-factor.ts'
import { selfOf, signedInAnswer, startSession } from './sign-in.ts'

/** A request with a code in its body. */
export interface CodeRequest extends Pick<Call, 'body' | 'address'> {}

const SEND_AGAIN =
  'The account has a second factor. Send the same code again, with the code of the second factor as "second_factor".'

/** `POST /api/auth/providers/exchange`: exchanges the code that a browser has brought back for a token. */
async function exchange(context: Context, request: Call): Promise<Answer> {
  const { second_factor: second, ...body } = request.body as Record<string, unknown>
  const errors: Errors = new Map()
  if (second !== undefined) takeText({ second_factor: second }, 'second_factor', errors)
  const { address } = request
  const { kind, code, found } = await takeCode(context, { body, address }, errors)
  const { entity, id } = found.account
  const plan = context.plans.get(entity)
  const self = plan && (await selfOf(context, plan, id))
  if (found.identity !== null || plan === undefined || self === undefined) throw new Failure('invalid_code')
  if (found.epoch !== undefined && found.epoch !== self.epoch) throw new Failure('invalid_code')
  if (second === undefined && (await hasFactor(context, plan, id)))
    throw new Failure('second_factor_required', { message: SEND_AGAIN })
  const user = await provenTwice(context, { ...self, plan, id }, second as string | undefined, request)
  if ((await context.handoffs.use(kind, code)) === undefined) throw new Failure('invalid_code')
  const answer = await startSession(context, user, 'provider', request)
  await refuseOvertaken(context, user, provenTwice, request)
  return answer
}

interface TakenCode {
  readonly kind: 'code' | 'slow_code'
  readonly code: string
  readonly found: ReturnedCode
}

/** Returns the payload of a code, if the sender started the login. Does not use it up yet. */
export async function takeCode(
  context: Context,
  { body, address }: CodeRequest,
  errors: Errors = new Map(),
): Promise<TakenCode> {
  const { code, verifier } = parseCode(body as Record<string, unknown>, errors)
  const attempt: Attempt = { account: `provider-code ${code}`, address, device: null, remembered: false }
  const passed = await context.throttle.attempt(attempt, async (): Promise<TakenCode | undefined> => {
    for (const kind of ['code', 'slow_code'] as const) {
      const found = await context.handoffs.find(kind, code)
      if (found !== undefined) return isFor(found, verifier) ? { kind, code, found } : undefined
    }
    return undefined
  })
  if (passed === undefined) throw new Failure('invalid_code')
  return passed.found
}

/** A verifier without a challenge is refused too: somebody has removed the challenge (RFC 9700, section 4.8). */
function isFor({ challenge }: ReturnedCode, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined
  return isDigestOf(challenge, verifier)
}

function parseCode(
  body: Record<string, unknown>,
  errors: Errors,
): { code: string; verifier: string | undefined } {
  for (const name of Object.keys(body))
    if (name !== 'code' && name !== 'code_verifier') addError(errors, name, 'is not a field here')
  const code = takeText(body, 'code', errors)
  const { code_verifier: verifier } = body
  if (verifier !== undefined && !(typeof verifier === 'string' && /^[\w.~-]{43,128}$/.test(verifier)))
    addError(errors, 'code_verifier', 'must have 43 to 128 letters, digits and -._~')
  if (errors.size > 0) throw invalid(errors)
  return { code, verifier: verifier as string | undefined }
}

const sentCode: Record<string, JsonSchema> = {
  code: { type: 'string', minLength: 1, maxLength: 1024, writeOnly: true },
  code_verifier: {
    type: 'string',
    pattern: '^[A-Za-z0-9_.~-]{43,128}$',
    writeOnly: true,
    description: 'The text whose digest was sent as `code_challenge`.',
  },
}

export const exchangeCode = serverEndpoint({
  name: 'exchangeCode',
  method: 'POST',
  path: '/api/auth/providers/exchange',
  tag: SESSIONS,
  parameters: [],
  body: 'object',
  access: 'everyone',
  answer: 'token',
  schemas: () => ({
    ProviderCode: closedObject(sentCode, ['code']),
    CodeExchange: closedObject(
      {
        ...sentCode,
        second_factor: {
          type: 'string',
          minLength: 1,
          maxLength: 1024,
          writeOnly: true,
          description: 'The code of the second factor, or a recovery code, if the user has set one up.',
        },
      },
      ['code'],
    ),
  }),
  describe: () => ({
    summary: 'Exchange the code of a provider login',
    description:
      'Returns a token for the `code` with which a browser came back from a provider. It works once.',
    body: { schema: refTo('CodeExchange'), example: { code: 'wq3eN1v0…' } },
    answers: [signedInAnswer],
    codes: [
      'invalid_code',
      'unverified',
      'second_factor_required',
      'second_factor_failed',
      'too_many_attempts',
      'disk_full',
    ],
  }),
  run: exchange,
})
