import { type Errors, invalid, note } from '../errors.ts'
import type { Actor } from '../plan/actor.ts'
import type { Plan } from '../plan/compile.ts'
import { LIMIT, LIMIT_MAX, LIST_PARAMETERS, type ListQuery, type Trashed } from '../plan/list.ts'
import { BY_RANK } from '../plan/search.ts'
import type { Bound, Row } from '../store/dialect.ts'
import { type Answer, allow, type Context } from './context.ts'
import { parseFlag, parsePast, Query } from './query.ts'

/** `GET /api/<entity>/` */
export async function list(context: Context, plan: Plan, actor: Actor, query: Query): Promise<Answer> {
  allow(plan, 'read', actor, true)
  const errors: Errors = new Map()
  const asked = query === Query.empty ? plain : parse(plan, query, errors)
  if (asked.trashed !== 'without') allow(plan, 'restore', actor, true)
  if (asked.at !== undefined) allow(plan, 'history', actor, true)
  if (errors.size > 0) throw invalid(errors)

  const { statement, bag } = plan.lists.page(asked)
  const rows = await context.store.read(statement, bag)
  const last = rows.length > asked.limit ? rows[asked.limit - 1] : undefined
  const next = last === undefined ? 'null' : `"${plan.lists.cursor(asked.sort, last[1] ?? null)}"`
  const total = asked.count ? `,"total":${await totalOf(context, plan, asked)}` : ''
  return { status: 200, body: `{"data":[${joined(rows, asked.limit)}],"next":${next}${total}}` }
}

/** The database has made the JSON of each already. */
function joined(rows: readonly Row[], limit: number): string {
  let text = ''
  for (let at = 0; at < rows.length && at < limit; at++)
    text += at === 0 ? rows[at]?.[0] : `,${rows[at]?.[0]}`
  return text
}

async function totalOf(context: Context, plan: Plan, asked: ListQuery): Promise<Bound> {
  const { statement, bag } = plan.lists.total(asked)
  const [row] = await context.store.read(statement, bag)
  return row?.[0] ?? 0
}

const defaultSort = [{ column: 'id', descending: false }]
/** What most lists are asked for: nothing in particular. */
const plain: ListQuery & { count: boolean } = Object.freeze({
  equals: [],
  sort: defaultSort,
  after: undefined,
  trashed: 'without',
  fields: undefined,
  limit: LIMIT,
  at: undefined,
  search: undefined,
  count: false,
})

function parse(plan: Plan, query: Query, errors: Errors): ListQuery & { count: boolean } {
  const { lists } = plan
  const equals: { column: string; value: Bound }[] = []
  const given = query.take(LIST_PARAMETERS, errors, (path, text) => {
    const condition = lists.parse(path, text, errors)
    if (condition !== undefined) equals.push(condition)
  })
  const search = parseSearch(plan, given, equals, errors)
  const standard = search === undefined ? defaultSort : BY_RANK
  const sort = given.sort === undefined ? standard : lists.parseSort(given.sort, errors)
  return {
    equals,
    sort,
    after: given.cursor === undefined ? undefined : lists.parseCursor(given.cursor, sort, errors),
    trashed: parseTrashed(given.trashed, errors),
    fields: given.fields === undefined ? undefined : lists.parseFields(given.fields, errors),
    limit: parseLimit(given.limit, errors),
    at: parsePast(given.at, plan.type.retention.journal, errors),
    search,
    count: parseFlag('count', given.count, errors),
  }
}

/** Where nothing is searched, it is a name as any other. */
function parseSearch(
  { lists }: Plan,
  { search: text, at }: { search?: string; at?: string },
  equals: { column: string; value: Bound }[],
  errors: Errors,
): readonly string[] | undefined {
  if (text === undefined) return undefined
  if (lists.search !== undefined) {
    if (at !== undefined)
      note(errors, 'search', 'cannot be asked for together with at: the words of the past are not kept')
    return lists.search.parse(text, errors)
  }
  const condition = lists.parse('search', text, errors)
  if (condition !== undefined) equals.push(condition)
  return undefined
}

export function parseLimit(text: string | undefined, errors: Errors): number {
  if (text === undefined) return LIMIT
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > LIMIT_MAX) note(errors, 'limit', `must be a whole number from 1 to ${LIMIT_MAX}`)
  return limit
}

function parseTrashed(text: string | undefined, errors: Errors): Trashed {
  if (text === undefined) return 'without'
  if (text === 'only' || text === 'with') return text
  note(errors, 'trashed', 'must be only or with')
  return 'without'
}
