import type { EntityType } from '../../declare/model.ts'
import { isRequired } from '../../declare/values.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { compile, id, join, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { type CheckSql, rowAfter } from '../condition/checks.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { journalling } from '../past/journal.ts'
import { type BodyColumn, bodyColumns } from '../tables/columns.ts'
import { lockRows } from '../tables/lock-rows.ts'
import type { Disclosure } from '../viewer/disclosure.ts'
import type { RuleResults } from '../viewer/field-access.ts'
import { compileFaults, type FaultsPlan } from './faults.ts'
import { insertSql, newRow } from './insert.ts'
import { compileMatches, type MatchPlan } from './match.ts'
import { defaultParams, updatedRow, updateShape, updateSql } from './update.ts'

/** The steps that create and update Entities of one type, and the statements that explain a refusal. */
export interface WritePlan extends FaultsPlan, MatchPlan {
  /** `guarded`: the dot paths in the body that have rules of their own. */
  create(guarded?: readonly string[]): readonly Step[]
  /** Updates the columns that are among the parameters. Compiled once for each set of columns. */
  update(params: Params, options: EntityWriteOptions): readonly Step[]
  /** Locks the Entity `$id` until the transaction ends. Empty where transactions run one at a time. */
  readonly hold: readonly Step[]
  /** After a refusal: a flag for the rule, and one for each guarded path. No row if the Entity does not exist. */
  allowed(params: Params, options: EntityWriteOptions | { readonly guarded: readonly string[] }): Statement
  /** Which checks fail: a flag for each. Those that read a column for which `isFaulty` holds are left out. */
  broken(
    params: Params,
    options: EntityWriteOptions | object,
    isFaulty: (column: string) => boolean,
  ): Statement
  readonly checks: readonly CheckSql[]
  /** Columns that are required if the optional object around them is not null. */
  readonly needed: readonly { readonly path: string; readonly within: string; readonly column: string }[]
}

/** How an update is meant: as a merge or a replacement, and which paths in it have rules of their own. */
export interface EntityWriteOptions {
  readonly partial: boolean
  readonly guarded: readonly string[]
  /** What the caller saw of the Entity when the body was checked. If that has changed, the write is refused. */
  readonly ruleResults?: RuleResults | undefined
}

/** The rules of writes as SQL; undefined if a rule always holds. */
export interface WriteRules {
  create(rowSource: RowSource): Sql | undefined
  update(rowSource: RowSource): Sql | undefined
  field(path: string, rowSource: RowSource, action: 'write' | 'change'): Sql | undefined
  /** The conditions for seeing a row and these columns of it. */
  seen(rowSource: RowSource, columns: readonly string[]): readonly Sql[]
  /** The conditions of `FieldAccess.rules`. */
  fieldRules(rowSource: RowSource): readonly Sql[]
  readonly checks: readonly CheckSql[]
  readonly disclosure: Disclosure
}

export function compileWrites(type: EntityType, dialect: Dialect, rules: WriteRules): WritePlan {
  const columns = bodyColumns(type.fields)
  const writes = new WriteSteps(type, columns, dialect, rules)
  return {
    create: (guarded = []) => writes.create(guarded),
    update: (params, options) => writes.update(params, options),
    hold:
      dialect.lock === undefined
        ? []
        : [
            step(
              dialect,
              'lock',
              'any',
              lockRows(type.name, sql`h."id" = ${param('$id')}`, dialect.lock.toChange),
            ),
          ],
    allowed: (params, options) => writes.allowed(params, options),
    broken: (params, options, isFaulty) => writes.broken(params, options, isFaulty),
    checks: rules.checks,
    needed: columns.flatMap(({ name, field, within }) =>
      within !== undefined && isRequired(field) ? [{ path: field.path, within, column: name }] : [],
    ),
    ...compileFaults(type, columns, dialect, rules.disclosure),
    ...compileMatches(type, columns, dialect, {
      disclosure: rules.disclosure,
      seen: (set) => rules.seen(rowOf(type), set),
    }),
  }
}

/** The steps of writes, one for each shape of a body. */
class WriteSteps {
  readonly #type: EntityType
  readonly #columns: readonly BodyColumn[]
  readonly #dialect: Dialect
  readonly #rules: WriteRules
  readonly #defaults: Params
  readonly #newRow: RowSource
  /** For most creates: no path in the body has a rule of its own. */
  readonly #plainCreate: readonly Step[]
  readonly #steps = new ShapeCache<readonly Step[]>()
  readonly #verdicts = new ShapeCache<Statement>()

  constructor(type: EntityType, columns: readonly BodyColumn[], dialect: Dialect, rules: WriteRules) {
    this.#type = type
    this.#columns = columns
    this.#dialect = dialect
    this.#rules = rules
    this.#defaults = defaultParams(columns, dialect)
    this.#newRow = newRow(type, columns, dialect)
    this.#plainCreate = this.#createSteps([])
  }

  create(guarded: readonly string[]): readonly Step[] {
    if (guarded.length === 0) return this.#plainCreate
    return this.#steps.of(`create|${guarded.join('|')}`, () => this.#createSteps(guarded))
  }

  #createSteps(guarded: readonly string[]): Step[] {
    const conditions = [...this.#createRules(guarded).filter(isCondition), ...this.#isSound(this.#newRow)]
    return this.#journalled(insertSql(this.#type, this.#columns, this.#dialect, conditions), 'last', 'create')
  }

  update(params: Params, { partial, guarded, ruleResults = [] }: EntityWriteOptions): readonly Step[] {
    const update = { type: this.#type, columns: this.#columns, sent: this.#sentIn(params), partial }
    if (partial) Object.assign(params, this.#defaults)
    return this.#steps.of(`${updateShape(update)}|?${guarded.join('|')}|${ruleResults}`, () => {
      const row = updatedRow(update, this.#dialect)
      const conditions = [
        ...this.#updateRules(row, guarded).filter(isCondition),
        ...(ruleResults.length === 0 ? [] : this.#isStillSeen(ruleResults, row)),
        ...this.#isSound(row, update.sent),
      ]
      const change = updateSql(update, this.#dialect, conditions)
      return this.#journalled(change, sql`t."id" = ${param('$id')}`, 'update')
    })
  }

  allowed(params: Params, options: EntityWriteOptions | { readonly guarded: readonly string[] }): Statement {
    const { guarded } = options
    if (!('partial' in options))
      return this.#verdicts.of(`create|?${guarded.join('|')}`, () =>
        this.#verdict(this.#createRules(guarded), sql``),
      )
    const update = {
      type: this.#type,
      columns: this.#columns,
      sent: this.#sentIn(params),
      partial: options.partial,
    }
    return this.#verdicts.of(`${updateShape(update)}|?${guarded.join('|')}`, () =>
      this.#verdict(
        this.#updateRules(updatedRow(update, this.#dialect), guarded),
        sql` FROM ${id(this.#type.name)} t WHERE t."id" = ${param('$id')}`,
      ),
    )
  }

  broken(
    params: Params,
    options: EntityWriteOptions | object,
    isFaulty: (column: string) => boolean,
  ): Statement {
    const { checks } = this.#rules
    const update =
      'partial' in options
        ? { type: this.#type, columns: this.#columns, sent: this.#sentIn(params), partial: options.partial }
        : undefined
    const concerned = this.#checksFor(update?.sent)
    const open = checks.map((one) => concerned.includes(one) && ![...one.reads].some(isFaulty))
    if (update?.partial) Object.assign(params, this.#defaults)
    const shape = update === undefined ? 'create' : updateShape(update)
    return this.#verdicts.of(`checks ${open}|${shape}`, () => {
      const row = update === undefined ? this.#newRow : updatedRow(update, this.#dialect)
      const results = checks.map((check, at) => (open[at] ? check.broken(this.#checked(row)) : undefined))
      const which =
        update === undefined ? sql`` : sql` FROM ${id(this.#type.name)} t WHERE t."id" = ${param('$id')}`
      return this.#verdict(
        results.map((one) => one ?? sql`1 = 0`),
        which,
      )
    })
  }

  /** That no check fails. For an update, only checks that read something in the body: the others held before. */
  #isSound(row: RowSource, sent?: readonly BodyColumn[]): Sql[] {
    return this.#checksFor(sent).map((check) => sql`NOT (${check.broken(this.#checked(row))})`)
  }

  /** The checks that a write can break. */
  #checksFor(sent: readonly BodyColumn[] | undefined): readonly CheckSql[] {
    const { checks } = this.#rules
    if (sent === undefined) return checks
    // An object that is sent as a whole, or created by a merge, sets all of its columns.
    const set = new Set(sent.map(({ name }) => name))
    const within = new Set(this.#columns.filter((one) => set.has(one.within ?? '')).map(({ name }) => name))
    return checks.filter(({ reads }) => !reads.isDisjointFrom(set) || !reads.isDisjointFrom(within))
  }

  /** The row after the write. The time of a create is known by then. */
  #checked(row: RowSource): RowSource {
    const after = rowAfter(row)
    if (row !== this.#newRow) return after
    return { ...after, self: (name) => (name === 'created_at' ? this.#dialect.now : after.self(name)) }
  }

  /** Whether each of the rules holds. */
  #verdict(rules: readonly (Sql | undefined)[], from: Sql): Statement {
    const results = rules.map((one) => (one === undefined ? sql`1` : sql`CASE WHEN ${one} THEN 1 ELSE 0 END`))
    return compile(sql`SELECT ${join(results)}${from}`, this.#dialect.placeholder)
  }

  #sentIn(params: Params): BodyColumn[] {
    return this.#columns.filter(({ name }) => Object.hasOwn(params, name))
  }

  /** The rule of the create first, then the rule of each guarded path. */
  #createRules(guarded: readonly string[]): (Sql | undefined)[] {
    const row = this.#newRow
    return [this.#rules.create(row), ...guarded.map((path) => this.#rules.field(path, row, 'write'))]
  }

  #updateRules(row: RowSource, guarded: readonly string[]): (Sql | undefined)[] {
    return [this.#rules.update(row), ...guarded.map((path) => this.#rules.field(path, row, 'change'))]
  }

  #isStillSeen(ruleResults: RuleResults, row: RowSource): Sql[] {
    return this.#rules.fieldRules(row).map((one, at) => (ruleResults[at] ? one : sql`(${one}) IS NOT TRUE`))
  }

  /** A change with its journal entry, which is also the answer. */
  #journalled(change: Sql, which: Sql | 'last', kind: 'create' | 'update'): Step[] {
    const { name } = this.#type
    return this.#dialect
      .journalled(change, name, which, journalling(this.#type, kind, this.#dialect))
      .map(({ source, ...more }) => ({ ...step(this.#dialect, 'change', 'some', source), ...more }))
  }
}

function isCondition(rule: Sql | undefined): rule is Sql {
  return rule !== undefined
}
