import { withoutNext } from '../../declare/cel/assume.ts'
import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { type Action, actions } from '../../declare/define.ts'
import { type EntityType, type Field, walk } from '../../declare/model.ts'
import type { FieldAction } from '../../declare/rules.ts'
import { and, compile, id, join, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { checksOf } from '../condition/checks.ts'
import { Conditions } from '../condition/condition.ts'
import { compileFilters } from '../condition/filter.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { compileExpansions } from '../read/expand.ts'
import { compileLists, type ListPlan } from '../read/list.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import { type Disclosure, disclosureFor } from '../viewer/disclosure.ts'
import { fieldAccessOf } from '../viewer/field-access.ts'
import { columnRule, type Viewer } from '../viewer/viewer.ts'
import { compileProvisions, type Provisions } from '../write/provide.ts'
import { compileWrites, type WritePlan } from '../write/write.ts'
import { type BodyCheck, compileBodyCheck } from './body-check.ts'
import { compileFollow, type Follow } from './follow.ts'
import { compileKnown, type KnownPlan, seenFields } from './known.ts'
import { RuleSql } from './rule-sql.ts'
import type { ViewInput } from './view-input.ts'

/** What a viewer can see of a type and do with it. */
export interface View extends KnownPlan {
  readonly viewer: Viewer
  readonly disclosure: Disclosure
  /** The rules: `yes`, `no`, or a condition on the Entity. */
  readonly may: Readonly<Record<Action, Expression>>
  /** The condition of a rule on an Entity; undefined if the rule always holds. */
  rule(action: Action, rowSource: RowSource): Sql | undefined
  /** The fields that they see in every Entity. */
  readonly fields: readonly Field[]
  /** Whether they see less than the journal has in some Entities, or also computed fields. */
  readonly hides: boolean
  readonly check: BodyCheck
  /** The dot paths that they may set only in some Entities: in new ones, and in existing ones. */
  readonly guarded: Readonly<Record<'create' | 'update', readonly string[]>>
  /** What they see of the Entity `$id`: a flag for each of `FieldAccess.rules`. Undefined if all Entities are alike. */
  readonly fieldRules: Statement | undefined
  readonly shown: Shown
  readonly lists: ListPlan
  readonly follow: Follow
  readonly writes: WritePlan
  /** The values that the server provides when they write; undefined if there are none. */
  readonly provided: Provisions | undefined
  /** One Entity by `$id`, live or deleted: id, version, JSON, deletion, a flag for each action. For `entityState`. */
  readonly state: Statement
  /** Whether they may change the Entity `$id` at all, whatever the new values; undefined if they always may. */
  readonly changeable: Statement | undefined
}

export function compileView(input: ViewInput): View {
  const { type, viewer, model, dialect } = input
  const rules = new RuleSql(viewer, model, dialect)
  const may = mayAll(type, viewer)
  const rule = (action: Action, rowSource: RowSource) => rules.unlessAlways(may[action], rowSource)
  const { shown } = rules.shownTo(type, rowOf(type).self)
  const paths = [...walk(type.fields)].map(({ path }) => path)
  const read = new Map(paths.map((path) => [path, viewer.mayField(type, path, 'read')]))
  const depending = (action: FieldAction) =>
    paths.filter((path) => ![yes, no].includes(viewer.mayField(type, path, action)))
  const fieldAccess = fieldAccessOf(type, viewer)
  const changeable = withoutNext(may.update)
  const disclosure = disclosureFor(viewer, model)
  return {
    viewer,
    disclosure,
    may,
    rule,
    fields: seenFields(type.fields, (path) => read.get(path) === yes),
    hides: type.computed.size > 0 || [...read.values()].some((one) => one !== yes),
    check: compileBodyCheck(
      type,
      fieldAccess,
      shown.computed?.map(({ name }) => name),
    ),
    guarded: { create: depending('write'), update: depending('change') },
    fieldRules: fieldAccess.rules.length === 0 ? undefined : rules.flagsOf(fieldAccess.rules, type),
    changeable: changeable === yes ? undefined : rules.flagsOf([changeable], type),
    shown,
    lists: listsOf(input, rules, shown, may.read),
    follow: compileFollow(input),
    writes: writesOf(input, rules, disclosure),
    provided: compileProvisions(input),
    ...knownOf(input, rules, read, rule),
    state: stateStatement(input, rules, may, shown),
  }
}

function writesOf(
  { type, viewer, model, dialect }: ViewInput,
  rules: RuleSql,
  disclosure: Disclosure,
): WritePlan {
  const fieldAccess = fieldAccessOf(type, viewer).rules
  const all = (expressions: readonly Expression[], rowSource: RowSource) =>
    expressions.flatMap((one) => rules.unlessAlways(one, rowSource) ?? [])
  return compileWrites(type, dialect, {
    create: (rowSource) => rules.unlessAlways(viewer.may(type, 'create'), rowSource),
    update: (rowSource) => rules.unlessAlways(viewer.may(type, 'update'), rowSource),
    field: (path, rowSource, action) => rules.unlessAlways(viewer.mayField(type, path, action), rowSource),
    seen: (rowSource, columns) =>
      all([viewer.may(type, 'read'), ...columns.map((one) => columnRule(viewer, type, one))], rowSource),
    fieldRules: (rowSource) => fieldAccess.map((one) => rules.condition(one, rowSource)),
    checks: checksOf(type, model, dialect),
    disclosure,
  })
}

function knownOf(
  { type, dialect }: ViewInput,
  rules: RuleSql,
  read: ReadonlyMap<string, Expression>,
  rule: View['rule'],
): KnownPlan {
  return compileKnown(type, read, dialect, {
    guard: (expression) => rules.condition(expression, rowOf(type)),
    history: and([rule('read', rowOf(type)), rule('history', rowOf(type))].map((one) => one ?? sql`1 = 1`)),
  })
}

function mayAll(type: EntityType, viewer: Viewer): View['may'] {
  return Object.fromEntries(actions.map((action) => [action, viewer.may(type, action)])) as View['may']
}

function listsOf(
  { type, viewer, model, legacy, dialect }: ViewInput,
  rules: RuleSql,
  shown: Shown,
  readRule: Expression,
): ListPlan {
  return compileLists(type, dialect, {
    shown,
    shownThen: rules.shownTo(type, rowOf(type).self, false).shown,
    expansions: compileExpansions({
      type,
      viewer,
      model,
      dialect,
      shownTo: (...seen) => rules.shownTo(...seen),
    }),
    filters: compileFilters(type, viewer.scopeOf(type), dialect),
    conditions: new Conditions(model, dialect, viewer),
    steps: legacy.steps.filter(({ entity }) => entity === type.name),
    always: (path) => viewer.mayField(type, path, 'read') === yes,
    readRule,
    sides: (rowSource) =>
      readRule.op === 'or' ? readRule.of.map((one) => rules.condition(one, rowSource)) : [],
    rule: (action, rowSource) => rules.unlessAlways(viewer.may(type, action), rowSource),
    may: (action, rowSource) => rules.unlessAlways(withoutNext(viewer.may(type, action)), rowSource),
  })
}

function stateStatement(
  { type, dialect }: ViewInput,
  rules: RuleSql,
  may: View['may'],
  shown: Shown,
): Statement {
  const flags = actions.map((action) => {
    // For a create there is no row yet.
    const rule = action === 'create' ? no : may[action]
    if (rule === yes) return sql`, 1`
    return rule === no ? sql`, 0` : sql`, ${rules.flag(rule, type)}`
  })
  return compile(
    sql`SELECT t."id", t."version", ${renderEntity(type, dialect, shown)}, t."deletion"${join(flags, sql``)}
        FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`,
    dialect.placeholder,
  )
}
