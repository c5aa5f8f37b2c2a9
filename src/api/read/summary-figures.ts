import { budget } from '../../budget.ts'
import { didYouMean } from '../../declare/closest.ts'
import { PERIODS, type Period, timeZoneProblem } from '../../declare/period.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Comparable } from '../../plan/condition/query.ts'
import { imbalanceIn, splitOutside } from '../../plan/read/brackets.ts'
import type { ListPlan } from '../../plan/read/list.ts'
import { type Figures, type GroupKey, NUMBERS, ORDERED } from '../../plan/read/summary.ts'
import { parseFlag } from '../query.ts'

type Given = Partial<Record<string, string>>

/** Matches `day(starts_at)` and `month(starts_at,"Europe/Berlin")`. */
const PERIOD = new RegExp(`^(${PERIODS.join('|')})\\(([^,()]*)(?:,(.*))?\\)$`, 's')

/** What a parameter may name. Without `kinds`, all kinds. */
interface FigureKind {
  readonly what: string
  readonly kinds?: readonly string[]
  readonly periods?: boolean
}

/** Reads the figures of a summary: dot paths of values, and periods of dates and times. */
export class FiguresReader {
  readonly #type: string
  readonly #lists: ListPlan
  readonly #errors: Errors

  constructor(type: string, lists: ListPlan, errors: Errors) {
    this.#type = type
    this.#lists = lists
    this.#errors = errors
  }

  figures(given: Given): Figures {
    const number = { kinds: NUMBERS, what: 'a number' }
    const ordered = { kinds: ORDERED, what: 'a number, a date or a time' }
    const hasOthers = ['distinct', 'sum', 'avg', 'min', 'max'].some((name) => given[name] !== undefined)
    return {
      group: this.#values('group', given.group, { what: 'a value', periods: true }),
      distinct: this.#values('distinct', given.distinct, { what: 'a value', periods: true }),
      sum: this.#values('sum', given.sum, number),
      avg: this.#values('avg', given.avg, number),
      min: this.#values('min', given.min, ordered),
      max: this.#values('max', given.max, ordered),
      count: parseFlag('count', given.count, this.#errors) || !hasOthers,
    }
  }

  #values(name: string, text: string | undefined, kind: FigureKind): Comparable[] {
    if (text === undefined) return []
    const problem = imbalanceIn(text)
    if (problem !== undefined) return addError(this.#errors, name, problem) ?? []
    const parts = splitOutside(text, ',').map((part) => part.trim())
    if (parts.length > budget.summaryValues)
      return addError(this.#errors, name, `names more than ${budget.summaryValues} values`) ?? []
    const values = parts.flatMap((part) => this.#value(name, part, kind) ?? [])
    const same = ({ path, period, value }: Comparable) =>
      period === undefined ? path : JSON.stringify([period, value])
    if (new Set(values.map(same)).size < values.length) addError(this.#errors, name, 'names a value twice')
    return values
  }

  #value(name: string, text: string, { what, kinds, periods = false }: FigureKind): Comparable | undefined {
    const [, unit, path = '', zone] = PERIOD.exec(text) ?? []
    if (periods && unit !== undefined) return this.#period(name, text, path.trim(), { unit, zone })
    const by = this.#lists.comparable(text)
    if (by !== undefined && (kinds === undefined || kinds.includes(by.kind))) return by
    return this.#unfit(name, text, what, by)
  }

  #unfit(name: string, path: string, what: string, by: Comparable | undefined): undefined {
    const hint = () => (by === undefined ? this.#lists.hint(path) : '')
    return addError(this.#errors, name, () => `"${path}" is not ${what} of ${this.#type}${hint()}`)
  }

  #period(
    name: string,
    text: string,
    path: string,
    { unit: given, zone: quoted }: { readonly unit: string; readonly zone: string | undefined },
  ): Comparable | undefined {
    const by = this.#lists.comparable(path)
    const unit = PERIODS.find((one) => one === given)
    if (by === undefined || unit === undefined || (by.kind !== 'date' && by.kind !== 'datetime'))
      return this.#unfit(name, path, 'a date or a time', by)
    if (by.kind === 'date' && unit === 'hour')
      return addError(this.#errors, name, `"${path}" is a date, which has no hours`)
    if (by.kind === 'date' && quoted !== undefined)
      return addError(
        this.#errors,
        name,
        `"${path}" is a date, which has no time zone: write ${unit}(${path})`,
      )
    const zone = quoted?.trim().replace(/^(["'])(.*)\1$/s, '$2')
    const problem = zone === undefined ? undefined : timeZoneProblem(zone)
    if (problem !== undefined) return addError(this.#errors, name, problem)
    const period: Period = { unit, of: by.kind, zone }
    return { ...by, path: text, kind: unit === 'hour' ? 'datetime' : 'date', choices: undefined, period }
  }

  /** Reads `sort=-count,status`: groups and figures of the same request. All other groups are added at the end. */
  sort(text: string | undefined, figures: Figures): readonly GroupKey[] {
    const names = sortNames(figures)
    const keys = text === undefined ? [] : this.#sortKeys(text, names)
    const rest = figures.group.filter(({ path }) => !keys.some(({ by }) => by.path === path))
    return [...keys, ...rest.map((by) => ({ by, figure: 'group' as const, of: by, descending: false }))]
  }

  #sortKeys(text: string, names: ReadonlyMap<string, Omit<GroupKey, 'descending'>>): GroupKey[] {
    const problem = imbalanceIn(text)
    if (problem !== undefined) return addError(this.#errors, 'sort', problem) ?? []
    const parts = splitOutside(text, ',').map((part) => part.trim())
    if (parts.length > budget.sortKeys)
      return addError(this.#errors, 'sort', `names more than ${budget.sortKeys} values`) ?? []
    const keys = parts.flatMap((part): GroupKey[] => {
      const descending = part.startsWith('-')
      const name = descending ? part.slice(1) : part
      const key = names.get(name)
      if (key !== undefined) return [{ ...key, descending }]
      const all = [...names.keys()]
      const possible = `sort by ${all.join(', ')}${didYouMean(name, all)}`
      return (
        addError(
          this.#errors,
          'sort',
          `"${name}" is neither in group nor a figure of this request: ${possible}`,
        ) ?? []
      )
    })
    if (new Set(keys.map(({ by }) => by.path)).size < keys.length)
      addError(this.#errors, 'sort', 'names a value twice')
    return keys
  }
}

/** Returns everything that the groups of a request can be sorted by. */
function sortNames(figures: Figures): ReadonlyMap<string, Omit<GroupKey, 'descending'>> {
  const kinds = ['distinct', 'sum', 'avg', 'min', 'max'] as const
  const all: Omit<GroupKey, 'descending'>[] = [
    ...figures.group.map((by) => ({ by, figure: 'group' as const, of: by })),
    ...(figures.count ? [{ by: { path: 'count' }, figure: 'count' as const, of: undefined }] : []),
    ...kinds.flatMap((figure) =>
      figures[figure].map((of) => ({ by: { path: `${figure}(${of.path})` }, figure, of })),
    ),
  ]
  // A group wins over a figure with the same name: a field may be called `count`.
  return new Map(all.toReversed().map((key) => [key.by.path, key]))
}
