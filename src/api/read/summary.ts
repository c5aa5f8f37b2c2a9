import { budget } from '../../budget.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { type Errors, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { ListPlan } from '../../plan/read/list.ts'
import { type GroupKey, summaryOf } from '../../plan/read/summary.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type Answer, allow, type Context, callerParams } from '../context.ts'
import { closedObject, refTo } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import type { QueryName } from '../parameters.ts'
import type { Query } from '../query.ts'
import { fittingAnswer, limitOf, parseSelection, SELECTING } from './list.ts'
import { FiguresReader } from './summary-figures.ts'

const PARAMETERS = ['figures', 'group_count', 'groups', ...SELECTING, 'equalities'] as const

/** `GET /api/<entity>/summary/`: counts and adds up what the list would show. */
export async function summary(
  context: Context,
  plan: Plan,
  actor: Actor,
  query: Query<QueryName<(typeof PARAMETERS)[number]>>,
): Promise<Answer> {
  allow(plan, 'read', actor, true)
  const errors: Errors = new Map()
  const { lists } = plan.view(actor)
  const { given, selection } = parseSelection(plan, lists, query, errors)
  if (selection.trashed !== 'without') allow(plan, 'restore', actor, true)
  if (selection.at !== undefined) allow(plan, 'history', actor, true)
  const reader = new FiguresReader(plan.type.name, lists, errors)
  const figures = reader.figures(given)
  const keys = reader.sort(given.sort, figures)
  const limit = limitOf(given.limit, errors, budget.pageEntities)
  const page = pageOfGroups(lists, keys, given.cursor, errors)
  if (errors.size > 0) throw invalid(errors)

  const { statement, params } = lists.summary({ ...selection, ...page, limit }, figures, {
    keys,
    skipped: page.skipped,
  })
  const rows = await context.store.read(statement, Object.assign(params, callerParams(actor)))
  const shown = fittingAnswer(rows.slice(0, limit))
  const [, place] = (rows.length > shown.length ? shown.at(-1) : undefined) ?? []
  const behind = page.skipped === undefined ? String(place) : `[${page.skipped + shown.length}]`
  const body = {
    data: shown.map((row) => summaryOf(figures, row)),
    next: place === undefined ? null : lists.cursorAt(keys, behind),
  }
  return { status: 200, body: JSON.stringify(body) }
}

/** Where a page begins: after the values of a group, or after a number of groups if figures sort them. */
function pageOfGroups(
  lists: ListPlan,
  keys: readonly GroupKey[],
  cursor: string | undefined,
  errors: Errors,
) {
  const sort = keys.flatMap(({ figure, of: by, descending }) =>
    figure === 'group' && by !== undefined ? [{ by, descending }] : [],
  )
  if (sort.length < keys.length) {
    const skipped = cursor === undefined ? 0 : lists.parseSkipped(cursor, keys, errors)
    return { sort: [], after: undefined, skipped: skipped ?? 0 }
  }
  const after = cursor === undefined ? undefined : lists.parseCursor(cursor, sort, errors)
  return { sort, after, skipped: undefined }
}

const figures: JsonSchema = {
  type: 'object',
  additionalProperties: { type: ['number', 'string', 'null'] },
  description: 'By dot path. Decimals, dates and times are strings.',
}

/** Only the requested figures are present. */
const summarySchema: JsonSchema = closedObject(
  {
    data: {
      type: 'array',
      items: closedObject(
        {
          group: {
            type: 'object',
            additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
            description:
              'The values of the group, by dot path, or by period as it was sent: `day(created_at)`.',
          },
          count: { type: 'integer', minimum: 0 },
          distinct: {
            type: 'object',
            additionalProperties: { type: 'integer', minimum: 0 },
            description: 'How many different values there are, by dot path. `null` is not counted.',
          },
          sum: {
            ...figures,
            description: 'By dot path. Sums of decimals, and sums of integers beyond 2^53, are strings.',
          },
          avg: figures,
          min: figures,
          max: figures,
        },
        [],
      ),
    },
    next: {
      type: ['string', 'null'],
      description: 'The `cursor` of the next page; `null` on the last page.',
    },
  },
  ['data', 'next'],
)

export const summariseEntities = entityEndpoint({
  name: 'summarise',
  method: 'GET',
  path: '/api/{entity}/summary/',
  parameters: PARAMETERS,
  rule: { all: ['read'] },
  schemas: () => ({ Summary: summarySchema }),
  describe: (about) => ({
    summary: `Summarise ${about.type.name}`,
    description: `Count, distinct values, sum, average, minimum and maximum of the Entities that the list would return, by groups. ${about.access('read')}`,
    answers: [
      {
        status: 200,
        description: 'One item per group.',
        headers: [],
        schema: refTo('Summary'),
        example: { data: [{ count: 1 }], next: null },
      },
    ],
    codes: (['read', 'restore', 'history'] as const).flatMap((action) => about.refusals(action, true)),
  }),
  run: (context, plan, { caller, query }) => summary(context, plan, caller.actor, query),
})
