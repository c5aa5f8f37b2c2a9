import { withoutNext } from '../../declare/cel/assume.ts'
import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { didYouMean } from '../../declare/closest.ts'
import { type Action, actions } from '../../declare/define.ts'
import type { Check } from '../../declare/fields/field.ts'
import { type EntityType, type Field, type Model, walk } from '../../declare/model.ts'
import type { FieldAction } from '../../declare/rules.ts'
import { HIDDEN, type Mode, objectCheck, type Values } from '../../declare/values.ts'
import type { Errors } from '../../errors.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, compile, id, join, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { Conditions } from '../condition/condition.ts'
import { compileFilters } from '../condition/filter.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { compileExpansions } from '../read/expand.ts'
import { compileLists, type ListPlan } from '../read/list.ts'
import { ownColumns } from '../tables/columns.ts'
import type { Legacy } from '../tables/graph.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import { type Disclosure, disclosureFor } from '../viewer/disclosure.ts'
import { type Sight, type Sights, sightsOf } from '../viewer/sight.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { compileWrites, type WritePlan } from '../write/write.ts'

/** What some of those who meet the rules alike can see of a type, and do with it. */
export interface View {
  readonly viewer: Viewer
  readonly disclosure: Disclosure
  /** What a rule says: `yes`, `no`, or what depends on the Entity. */
  readonly may: Readonly<Record<Action, Expression>>
  /** What a rule asks of an Entity; undefined where it asks for nothing. */
  rule(action: Action, rowSource: RowSource): Sql | undefined
  /** Fields that they see of every Entity. */
  readonly fields: readonly Field[]
  /** Whether there are others. */
  readonly hides: boolean
  /**
   * All that is wrong with a body goes into `errors`; what comes back is whole only where that stays empty. A body that
   * replaces an Entity is checked with what they see of it, where that is not the same for all.
   */
  check(mode: Mode, body: unknown, errors: Errors, sight?: Sight): Values
  /** The dot paths that they may set of some Entities only: of new ones, and of those that are there. */
  readonly guarded: Readonly<Record<'create' | 'update', readonly string[]>>
  /** What they see of the Entity `$id`: a column for each rule of `Sights`. Undefined where it is the same for all. */
  readonly sight: Statement | undefined
  readonly shown: Shown
  readonly lists: ListPlan
  readonly writes: WritePlan
  /** One Entity by `$id`, in whatever state: id, version, JSON, the operation that deleted it, and for each action whether they may. */
  readonly state: Statement
  /** Whether they may make anything else of the Entity `$id` at all; undefined where they always may. */
  readonly changeable: Statement | undefined
  /**
   * By `$ids`, in whatever state: id, whether they may see its history, and for each field that they see of some
   * Entities only, whether they see it of this one.
   */
  readonly known: Statement
  /** The fields that they see of an Entity, from its row of `known`. */
  fieldsOf(row: readonly unknown[]): readonly Field[]
}

/** Where the answer of a rule stands in a row of `state`. */
export function mayOf(row: readonly unknown[], action: Action): boolean {
  return Number(row[4 + actions.indexOf(action)]) === 1
}

export function compileView(
  type: EntityType,
  viewer: Viewer,
  model: Model,
  legacy: Legacy,
  dialect: Dialect,
): View {
  const rules = new Conditions(model, dialect)
  const may = Object.fromEntries(actions.map((action) => [action, viewer.may(type, action)])) as Record<
    Action,
    Expression
  >
  const rule = (action: Action, rowSource: RowSource) => ruleSql(may[action], rowSource)
  function ruleSql(expression: Expression, rowSource: RowSource): Sql | undefined {
    return expression === yes ? undefined : rules.of(expression, rowSource)
  }

  /** What they see of a row of any type, and whether they see it at all. */
  function shownTo(
    of: EntityType,
    row: (column: string) => Sql,
    stored = true,
  ): { shown: Shown; condition: Sql } {
    const rowSource: RowSource = { type: of, stored, self: row }
    const guards = new Map(
      [...walk(of.fields)].flatMap((field): [string, Sql][] => {
        const guard = viewer.mayField(of, field.path, 'read')
        return guard === yes || guard === no ? [] : [[field.path, rules.of(guard, rowSource)]]
      }),
    )
    return {
      shown: { row, fields: viewer.seen(of), guard: (path) => guards.get(path) },
      condition: ruleSql(viewer.may(of, 'read'), rowSource) ?? sql`1 = 1`,
    }
  }

  const { self: row } = rowOf(type)
  const { shown } = shownTo(type, row)
  const lists = compileLists(type, dialect, {
    shown,
    shownThen: shownTo(type, row, false).shown,
    expansions: compileExpansions({ type, viewer, model, dialect, shownTo }),
    filters: compileFilters(type, viewer.scopeOf(type), dialect),
    conditions: new Conditions(model, dialect, viewer),
    steps: legacy.steps.filter(({ entity }) => entity === type.name),
    always: (path) => viewer.mayField(type, path, 'read') === yes,
    readRule: may.read,
    sides: (rowSource) => (may.read.op === 'or' ? may.read.of.map((one) => rules.of(one, rowSource)) : []),
    rule,
  })
  const answers = actions
    // What is made has no row yet to be asked about.
    .map((action) => (action === 'create' ? no : may[action]))
    .map((one) => {
      if (one === yes) return sql`, 1`
      return one === no ? sql`, 0` : sql`, CASE WHEN ${rules.of(one, rowOf(type))} THEN 1 ELSE 0 END`
    })
  const paths = [...walk(type.fields)].map(({ path }) => path)
  const read = new Map(paths.map((path) => [path, viewer.mayField(type, path, 'read')]))
  const depending = (action: FieldAction) =>
    paths.filter((path) => ![yes, no].includes(viewer.mayField(type, path, action)))
  const sights = sightsOf(type, viewer)
  const disclosure = disclosureFor(viewer, model)
  function tell(asked: readonly Expression[]): Statement {
    const told = asked.map((one) => sql`CASE WHEN ${rules.of(one, rowOf(type))} THEN 1 ELSE 0 END`)
    return compile(
      sql`SELECT ${join(told)} FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`,
      dialect.placeholder,
    )
  }
  const changeable = withoutNext(may.update)
  return {
    viewer,
    disclosure,
    may,
    rule,
    fields: seenFields(type.fields, (path) => read.get(path) === yes),
    hides: [...read.values()].some((one) => one !== yes),
    check: checks(type, sights),
    guarded: { create: depending('write'), update: depending('change') },
    sight: sights.rules.length === 0 ? undefined : tell(sights.rules),
    changeable: changeable === yes ? undefined : tell([changeable]),
    shown,
    lists,
    writes: compileWrites(type, dialect, {
      create: (rowSource) => rule('create', rowSource),
      update: (rowSource) => rule('update', rowSource),
      field: (path, rowSource, action) => ruleSql(viewer.mayField(type, path, action), rowSource),
      sights: (rowSource) => sights.rules.map((one) => rules.of(one, rowSource)),
      disclosure,
    }),
    ...compileKnown(type, read, dialect, {
      guard: (expression) => rules.of(expression, rowOf(type)),
      history: and([rule('read', rowOf(type)), rule('history', rowOf(type))].map((one) => one ?? sql`1 = 1`)),
    }),
    state: compile(
      sql`SELECT t."id", t."version", ${renderEntity(type, dialect, shown)}, t."deletion"${join(answers, sql``)}
        FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`,
      dialect.placeholder,
    ),
  }
}

/** Fields that are seen, and objects with what is left in them. */
function seenFields(fields: readonly Field[], isSeen: (path: string) => boolean): Field[] {
  return fields.flatMap((field): Field[] => {
    if (!isSeen(field.path)) return []
    if (field.kind !== 'object') return [field]
    const inner = seenFields(field.fields, isSeen)
    return inner.length === 0 ? [] : [{ ...field, fields: inner }]
  })
}

function compileKnown(
  type: EntityType,
  read: ReadonlyMap<string, Expression>,
  dialect: Dialect,
  { guard, history }: { guard(expression: Expression): Sql; readonly history: Sql },
): Pick<View, 'known' | 'fieldsOf'> {
  const some = [...read].filter(([, one]) => one !== yes && one !== no)
  const flag = (condition: Sql) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`
  const told = [history, ...some.map(([, one]) => guard(one))].map(flag)
  const made = new Map<string, readonly Field[]>()
  return {
    known: compile(
      sql`SELECT t."id", ${join(told)} FROM ${id(type.name)} t WHERE t."id" IN ${dialect.listed('$ids', 'integer')}`,
      dialect.placeholder,
    ),
    fieldsOf([, , ...flags]) {
      const key = flags.join('')
      const known = made.get(key)
      if (known !== undefined) return known
      const seen = new Set([
        ...[...read].filter(([, one]) => one === yes).map(([path]) => path),
        ...some.filter((_, at) => Number(flags[at]) === 1).map(([path]) => path),
      ])
      const fields = seenFields(type.fields, (path) => seen.has(path))
      if (made.size < 1000) made.set(key, fields)
      return fields
    },
  }
}

function checks(type: EntityType, sights: Sights): View['check'] {
  const unknown = (key: string, known: readonly string[]) =>
    Object.hasOwn(ownColumns, key)
      ? 'is set by the server'
      : `is not a field of ${type.name}${didYouMean(key, known)}`
  const refusalsOf = (mode: Mode, sight: Sight | undefined) => (field: Field) => {
    const setting = mode === 'whole' ? 'write' : 'change'
    const may = (action: FieldAction, { path }: Field) => sights.may(action, path, sight)
    const isOpen = (one: Field) => may(setting, one) === yes && may('read', one) !== no
    const inside = field.kind === 'object' ? [...walk(field.fields)] : []
    const closed = inside.some((one) => may(setting, one) === no)
    // What they can neither see nor set, in any Entity, is not there.
    const isThere = (['read', 'write'] as const).some((action) => sights.may(action, field.path) !== no)
    return {
      refused: may(setting, field) !== no ? undefined : isThere ? 'is not yours to set' : HIDDEN,
      stays: !isOpen(field) || !inside.every(isOpen),
      kept: closed ? 'has something in it that is not yours to set' : undefined,
      blank: may('read', field) === no && sights.may('read', field.path) !== no,
    }
  }
  const of = (mode: Mode, sight?: Sight) => objectCheck(type.fields, mode, unknown, refusalsOf(mode, sight))
  const made = { whole: of('whole'), replace: of('replace'), partial: of('partial') }
  const bySight = new ShapeCache<Check>()
  return (mode, body, errors, sight) => {
    const check = sight === undefined ? made[mode] : bySight.of(`${mode} ${sight}`, () => of(mode, sight))
    return check(body, '', errors) as Values
  }
}
