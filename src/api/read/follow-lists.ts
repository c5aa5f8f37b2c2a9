import { budget } from '../../budget.ts'
import { isRecord } from '../../declare/record.ts'
import {
  addError,
  catalogue,
  type Errors,
  errorsAfter,
  Failure,
  invalid,
  shownFailure,
} from '../../errors.ts'
import type { Call } from '../call.ts'
import type { AnyAnswer, Context } from '../context.ts'
import { CHANGES, exampleType, refTo } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { exampleChanges, followListsSchemas } from './changes-schemas.ts'
import { STREAM, type StreamedList, streamOf } from './changes-stream.ts'
import { checkPosition, FOLLOWED, type Followed, type FollowRequest, parseFollow } from './follow-request.ts'

/** `POST /api/changes/`: the changes of several lists as one stream. */
async function changesOfLists(context: Context, call: Call): Promise<AnyAnswer> {
  const followed: StreamedList[] = []
  let refused = ''
  let named = 0
  for (const [at, list] of parseLists(call.body).entries())
    try {
      followed.push({ ...(await follow(context, call, list, errorsAfter(named))), name: String(at) })
    } catch (error) {
      // The other lists are followed all the same.
      if (!(error instanceof Failure) || catalogue[error.code].status >= 500) throw error
      for (const sentences of error.errors?.values() ?? []) named += sentences.length
      const { status } = catalogue[error.code]
      const data = { type: 'error', status, ...shownFailure(error, context.explainsDenials) }
      refused += `event: ${at}\ndata: ${JSON.stringify(data)}\n\n`
    }
  return streamOf(context, call, followed, refused)
}

function parseLists(body: object): Followed[] {
  const { lists, ...others } = body as { readonly lists?: unknown }
  const errors: Errors = new Map()
  for (const name of Object.keys(others)) addError(errors, name, 'is not known here')
  const most = budget.streamLists
  if (!Array.isArray(lists) || lists.length === 0 || lists.length > most)
    addError(errors, 'lists', `must be a list of 1 to ${most} lists to follow`)
  const parsed = (Array.isArray(lists) ? lists : [])
    .slice(0, most)
    .map((list, at) => parseList(list, `lists.${at}`, errors))
  if (errors.size > 0) throw invalid(errors)
  return parsed
}

/** The types and the fields can be lists of texts. */
function parseList(list: unknown, path: string, errors: Errors): Followed {
  if (!isRecord(list)) addError(errors, path, 'must be an object')
  const given = Object.entries(isRecord(list) ? list : {})
  return Object.fromEntries(given.map(([name, value]) => [name, parseValue(name, value, path, errors)]))
}

function parseValue(name: string, value: unknown, path: string, errors: Errors): string | undefined {
  const takesList = name === 'entity' || name === 'fields'
  const texts: readonly unknown[] = takesList && Array.isArray(value) ? value : [value]
  if (!FOLLOWED.some((one) => one === name)) addError(errors, `${path}.${name}`, 'is not known here')
  else if (texts.every((one) => typeof one === 'string')) return texts.join(',')
  else
    addError(errors, `${path}.${name}`, takesList ? 'must be a text, or a list of texts' : 'must be a text')
  return undefined
}

/** Throws what `GET /api/changes/` would answer. */
async function follow(
  context: Context,
  { caller }: Call,
  list: Followed,
  errors: Errors,
): Promise<FollowRequest> {
  const following = parseFollow(context, caller, list, errors)
  if (errors.size > 0) throw invalid(errors)
  await checkPosition(context, following)
  return following
}

export const followLists = serverEndpoint({
  name: 'followLists',
  method: 'POST',
  path: '/api/changes/',
  tag: CHANGES,
  parameters: [],
  body: 'object',
  reads: true,
  produces: [STREAM],
  access: 'everyone',
  schemas: () => followListsSchemas,
  describe: ({ model, isPublic }) => ({
    open: [...model.entities.values()].some((type) => isPublic(type, 'read')),
    summary: 'Follow several lists as one stream',
    description:
      'A stream of server-sent events, as `GET /api/changes/` makes it, for up to ' +
      `${budget.streamLists} lists: browsers have few connections to one server. The \`event\` of each is the place of the list that it belongs to, beginning with 0. A list that cannot be followed gets one event of the type \`error\`, with the status and the body that the \`GET\` would answer; the others are followed.`,
    body: {
      schema: refTo('FollowLists'),
      example: { lists: [{ entity: exampleType(model)?.name ?? 'bookings', since: exampleChanges.next }] },
    },
    answers: [{ status: 200, description: 'The changes.', headers: [], schema: { type: 'string' } }],
    codes: [],
  }),
  run: changesOfLists,
})
