import { budget } from '../../budget.ts'
import { addError, type Errors, invalid } from '../../errors.ts'
import { type MaybePromise, whenResolved } from '../../maybe-promise.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Filter } from '../../plan/condition/filter.ts'
import type { ListPlan } from '../../plan/read/list.ts'
import { parseLimit } from '../../plan/read/list-parameters.ts'
import type { ListQuery, Selection, Trashed } from '../../plan/read/list-query.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import type { Bound, Params, Row } from '../../store/dialect.ts'
import { type Answer, allow, type Context, callerParams } from '../context.ts'
import { entityEndpoint } from '../endpoint.ts'
import type { QueryName } from '../parameters.ts'
import { parseFlag, parsePast, Query } from '../query.ts'

/** The parameters that select Entities, and the page. */
export const SELECTING = ['filter', 'cursor', 'trashed', 'at', 'search'] as const

const PARAMETERS = ['limit', 'count', ...SELECTING, 'sort', 'fields', 'expand', 'equalities'] as const

type ListParameterName = QueryName<(typeof PARAMETERS)[number]>

/** `GET /api/<entity>/` */
export function listPage(
  context: Context,
  plan: Plan,
  actor: Actor,
  query: Query<ListParameterName>,
): MaybePromise<Answer> {
  allow(plan, 'read', actor, true)
  const errors: Errors = new Map()
  const { lists } = plan.view(actor)
  const { listQuery, counts } =
    query === Query.empty ? { listQuery: lists.plain, counts: false } : parseList(plan, lists, query, errors)
  if (listQuery.trashed !== 'without') allow(plan, 'restore', actor, true)
  if (listQuery.at !== undefined) allow(plan, 'history', actor, true)
  if (errors.size > 0) throw invalid(errors)

  const caller = callerParams(actor)
  return whenResolved(listQuery.at === undefined ? context.positions.header() : {}, (headers) =>
    whenResolved(pageRows(context, lists, listQuery, caller), (rows) => {
      const page = pageJson(lists, listQuery, rows)
      if (!counts) return { status: 200, body: `{${page}}`, headers }
      return whenResolved(totalOf(context, lists, listQuery, caller), (total) => ({
        status: 200,
        body: `{${page},"total":${total}}`,
        headers,
      }))
    }),
  )
}

function pageJson(lists: ListPlan, { limit, sort }: ListQuery, rows: readonly Row[]): string {
  const shown = fittingAnswer(rows.slice(0, limit))
  const [, place] = (rows.length > shown.length ? shown.at(-1) : undefined) ?? []
  const next = place === undefined ? 'null' : `"${lists.cursor(sort, place)}"`
  return `"data":[${joined(shown)}],"next":${next}`
}

/** If the first value is `null`, the page is too large for an answer: it is read again, cut to size. */
function pageRows(
  context: Context,
  lists: ListPlan,
  listQuery: ListQuery,
  caller: Params,
): MaybePromise<readonly Row[]> {
  const { statement, params } = lists.page(listQuery)
  return whenResolved(context.store.read(statement, Object.assign(params, caller)), (rows) => {
    if (rows[0]?.[0] !== null) return rows
    const cut = lists.cutPage(listQuery)
    return context.store.read(cut.statement, Object.assign(cut.params, caller))
  })
}

/** Returns the first rows, as many as fit into an answer, or up to a row that the database has left out. */
export function fittingAnswer(rows: readonly Row[]): readonly Row[] {
  let bytes = 0
  const end = rows.findIndex(([text], at) => {
    if (text === null || text === undefined) return true
    bytes += String(text).length
    return at > 0 && bytes > budget.answerBytes
  })
  return end < 0 ? rows : rows.slice(0, end)
}

/** Joins the rows, which are JSON already. */
function joined(rows: readonly Row[]): string {
  let text = ''
  for (let at = 0; at < rows.length; at++) text += at === 0 ? rows[at]?.[0] : `,${rows[at]?.[0]}`
  return text
}

function totalOf(
  context: Context,
  lists: ListPlan,
  listQuery: ListQuery,
  caller: Params,
): MaybePromise<Bound> {
  const { statement, params } = lists.total(listQuery)
  return whenResolved(context.store.read(statement, Object.assign(params, caller)), ([row]) => row?.[0] ?? 0)
}

function parseList(
  plan: Plan,
  lists: ListPlan,
  query: Query<ListParameterName>,
  errors: Errors,
): { listQuery: ListQuery; counts: boolean } {
  const { given, selection } = parseSelection(plan, lists, query, errors)
  const standard = selection.search === undefined ? lists.defaultSort : lists.byRank
  const past = selection.at !== undefined
  const sort = given.sort === undefined ? standard : lists.parseSort(given.sort, errors, past)
  if (past && given.expand !== undefined) addError(errors, 'expand', 'cannot be combined with at')
  const listQuery = {
    ...selection,
    sort,
    after: given.cursor === undefined ? undefined : lists.parseCursor(given.cursor, sort, errors),
    fields:
      given.fields === undefined
        ? undefined
        : lists.parseFields(given.fields, errors, selection.trashed !== 'without'),
    expand: given.expand === undefined ? undefined : lists.parseExpand(given.expand, errors),
    limit: limitOf(given.limit, errors),
  }
  return { listQuery, counts: parseFlag('count', given.count, errors) }
}

type Selecting = 'filter' | 'trashed' | 'at' | 'search'

/** Reads which Entities are selected, and the other parameters. An unknown name is read as a dot path. */
export function parseSelection<Name extends string>(
  plan: Plan,
  lists: ListPlan,
  query: Query<Name | Selecting>,
  errors: Errors,
): { given: Partial<Record<Name | Selecting, string>>; selection: Selection } {
  const filters: Filter[] = []
  const add = (filter: Filter | undefined) => {
    if (filter !== undefined) filters.push(filter)
  }
  const given = query.take(errors, (path, text) => {
    if (filters.length < budget.equalities)
      add(lists.equality({ path, text, at: filters.length }, errors, query.names))
    else addError(errors, path, `is one of more than ${budget.equalities} equalities: use filter`)
  })
  const at = parsePast(given.at, plan.type.retention.journal, errors)
  if (given.filter !== undefined) add(lists.parse(given.filter, errors, { past: at !== undefined }))
  // If no fields are searched, `search` is a name like any other.
  if (given.search !== undefined && lists.search === undefined)
    add(lists.equality({ path: 'search', text: given.search, at: filters.length }, errors))
  const search = given.search === undefined ? undefined : lists.search?.parse(given.search, errors)
  if (search !== undefined && at !== undefined)
    addError(errors, 'search', 'cannot be combined with at: search words of the past are not kept')
  return { given, selection: { filters, trashed: parseTrashed(given.trashed, errors), at, search } }
}

export function limitOf(
  text: string | undefined,
  errors: Errors,
  standard: number = budget.pageDefault,
): number {
  return (text === undefined ? undefined : parseLimit(text, errors)) ?? standard
}

function parseTrashed(text: string | undefined, errors: Errors): Trashed {
  if (text === undefined) return 'without'
  if (text === 'only' || text === 'with') return text
  addError(errors, 'trashed', 'must be only or with')
  return 'without'
}

export const listEntities = entityEndpoint({
  name: 'list',
  method: 'GET',
  path: '/api/{entity}/',
  parameters: PARAMETERS,
  rule: { all: ['read'] },
  describe: (about) => ({
    summary: `List ${about.type.name}`,
    description: `Returns one page, without deleted Entities. ${about.access('read')} Who may list deleted Entities: ${about.audience('restore')}.`,
    answers: [
      {
        status: 200,
        description: 'A page.',
        headers: ['Takeback-Position'],
        schema: about.schema('list'),
        example: { data: [about.answer], next: null },
      },
    ],
    codes: (['read', 'restore', 'history'] as const).flatMap((action) => about.refusals(action, true)),
  }),
  run: (context, plan, { caller, query }) => listPage(context, plan, caller.actor, query),
})
