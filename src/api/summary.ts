import { budget } from '../budget.ts'
import { type Errors, invalid, note } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Comparable } from '../plan/condition/query.ts'
import type { ListPlan } from '../plan/read/list.ts'
import { SUMMARY_PARAMETERS } from '../plan/read/list-query.ts'
import { type Figures, NUMBERS, ORDERED, summaryOf } from '../plan/read/summary.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { type Answer, allow, askedBy, type Context } from './context.ts'
import { fitting, parseLimit, parseSelection } from './list.ts'
import { parseFlag, type Query } from './query.ts'

/** `GET /api/<entity>/summary/`: what the list would show, counted and added up. */
export async function summary(context: Context, plan: Plan, actor: Actor, query: Query): Promise<Answer> {
  allow(plan, 'read', actor, true)
  const errors: Errors = new Map()
  const { lists } = plan.view(actor)
  const { given, selection } = parseSelection(plan, lists, query, SUMMARY_PARAMETERS, errors)
  if (selection.trashed !== 'without') allow(plan, 'restore', actor, true)
  if (selection.at !== undefined) allow(plan, 'history', actor, true)
  const figures = parseFigures(plan, lists, given, errors)
  const limit = given.limit === undefined ? budget.pageEntities : parseLimit(given.limit, errors)
  const sort = figures.group.map((by) => ({ by, descending: false }))
  const after = given.cursor === undefined ? undefined : lists.parseCursor(given.cursor, sort, errors)
  if (errors.size > 0) throw invalid(errors)

  const { statement, params } = lists.summary({ ...selection, sort, after, limit }, figures)
  const rows = await context.store.read(statement, Object.assign(params, askedBy(actor)))
  const shown = fitting(rows.slice(0, limit))
  const last = rows.length > shown.length ? shown.at(-1) : undefined
  const body = {
    data: shown.map((row) => summaryOf(figures, row)),
    next: last === undefined ? null : lists.cursorAt(sort, String(last[1])),
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
