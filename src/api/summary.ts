import { budget } from '../budget.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import { type Errors, invalid, note } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Comparable } from '../plan/condition/query.ts'
import type { ListPlan } from '../plan/read/list.ts'
import { type Figures, NUMBERS, ORDERED, summaryOf } from '../plan/read/summary.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { type Answer, allow, askedBy, type Context } from './context.ts'
import { closedObject, refTo } from './description.ts'
import { entityEndpoint } from './endpoint.ts'
import { fittingAnswer, limitOf, parseSelection, SELECTING } from './list.ts'
import type { QueryName } from './parameters.ts'
import { parseFlag, type Query } from './query.ts'

const PARAMETERS = ['figures', ...SELECTING, 'equalities'] as const

/** `GET /api/<entity>/summary/`: what the list would show, counted and added up. */
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
  const figures = parseFigures(plan, lists, given, errors)
  const limit = limitOf(given.limit, errors, budget.pageEntities)
  const sort = figures.group.map((by) => ({ by, descending: false }))
  const after = given.cursor === undefined ? undefined : lists.parseCursor(given.cursor, sort, errors)
  if (errors.size > 0) throw invalid(errors)

  const { statement, params } = lists.summary({ ...selection, sort, after, limit }, figures)
  const rows = await context.store.read(statement, Object.assign(params, askedBy(actor)))
  const shown = fittingAnswer(rows.slice(0, limit))
  const [, place] = (rows.length > shown.length ? shown.at(-1) : undefined) ?? []
  const body = {
    data: shown.map((row) => summaryOf(figures, row)),
    next: place === undefined ? null : lists.cursorAt(sort, String(place)),
  }
  return { status: 200, body: JSON.stringify(body) }
}

function parseFigures(
  { type }: Plan,
  lists: ListPlan,
  given: Partial<Record<string, string>>,
  errors: Errors,
): Figures {
  const values = (name: string, kinds: readonly string[] | undefined, what: string): Comparable[] => {
    const text = given[name]
    if (text === undefined) return []
    const paths = text.split(',')
    if (new Set(paths).size < paths.length) note(errors, name, 'names a value twice')
    if (paths.length > budget.summaryValues) {
      note(errors, name, `names more than ${budget.summaryValues} values`)
      return []
    }
    return paths.flatMap((path) => {
      const by = lists.comparable(path)
      if (by !== undefined && (kinds === undefined || kinds.includes(by.kind))) return [by]
      const hint = () => (by === undefined ? lists.hint(path) : '')
      note(errors, name, () => `"${path}" is not ${what} of ${type.name}${hint()}`)
      return []
    })
  }
  const figures = {
    group: values('group', undefined, 'a value'),
    sum: values('sum', NUMBERS, 'a number'),
    avg: values('avg', NUMBERS, 'a number'),
    min: values('min', ORDERED, 'a number, a date or a time'),
    max: values('max', ORDERED, 'a number, a date or a time'),
  }
  const asked = ['count', 'sum', 'avg', 'min', 'max'].some((name) => given[name] !== undefined)
  return { ...figures, count: parseFlag('count', given.count, errors) || !asked }
}

const figures: JsonSchema = {
  type: 'object',
  additionalProperties: { type: ['number', 'string', 'null'] },
  description: 'By dot path. Decimals, dates and times are strings.',
}

/** Has only the figures that were asked for. */
const summarySchema: JsonSchema = closedObject(
  {
    data: {
      type: 'array',
      items: closedObject(
        {
          group: {
            type: 'object',
            additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
            description: 'The values of the group, by dot path.',
          },
          count: { type: 'integer', minimum: 0 },
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
    description: `Count, sum, average, minimum and maximum of the Entities that the list would return, by groups. ${about.access('read')}`,
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
