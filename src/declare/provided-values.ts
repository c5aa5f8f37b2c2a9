import { budget } from '../budget.ts'
import type { Expression } from './cel/expression.ts'
import { Mistake } from './cel/parse.ts'
import { parseValueExpression } from './cel/value.ts'
import { columnsRead } from './checks.ts'
import {
  columnOf,
  type EntityType,
  type Field,
  fieldIn,
  type Provided,
  providedOf,
  type ReferenceField,
  type ValueField,
} from './model.ts'
import { declaredAt, type Problems } from './problems.ts'
import { callerScope, type Types } from './rules.ts'
import { allFields, declaredChoices, kindOf, membersOf } from './scope.ts'
import { type CelValue, isServerValue } from './server-value.ts'

/** When the server provides a value: if it is not sent (`default`), or always on an action. */
export type Occasion = keyof Provided

/** A field for which the server provides values. */
export type ProvidedField = ValueField | ReferenceField

/** The expression of a provided value, or a Mistake. `viewer`: the login type of the caller, undefined for nobody. */
export function providedExpression(
  { text }: CelValue,
  field: ProvidedField,
  { type, viewer, occasion }: { type: EntityType; viewer: EntityType | undefined; occasion: Occasion },
  types: Types,
): Expression {
  const own = occasion === 'update' ? (['id', 'created_at'] as const) : []
  const scope = {
    self: membersOf(type, types.entities, allFields, { own, referrers: false }),
    ...callerScope(viewer, types),
  }
  const target =
    field.kind === 'reference'
      ? ({ kind: 'reference', scale: 0, entity: field.target, choices: undefined } as const)
      : { kind: kindOf(field), scale: field.scale, entity: undefined, choices: declaredChoices(field) }
  return parseValueExpression(text, scope, target, budget.ruleItems)
}

/** Reports every provided value that has a mistake. */
export function checkProvided(types: Types, problems: Problems): void {
  for (const type of types.entities.values())
    for (const { field, optional } of providedIn(type.fields))
      for (const [occasion, value] of Object.entries(providedOf(field))) {
        const path = placeOf(type, field, occasion as Occasion)
        if (optional)
          problems.push([
            path,
            'cannot be provided inside an optional object; declare it outside, or make the object required',
          ])
        if (!isServerValue(value)) continue
        if (value.server === 'me') checkMe(field, path, types, problems)
        if (value.server !== 'cel') continue
        const mistake = mistakeIn(value, field, { type, occasion: occasion as Occasion }, types)
        if (mistake !== undefined) problems.push([path, `${mistake}, in ${JSON.stringify(value.text)}`])
      }
}

function placeOf({ name }: EntityType, { path }: Field, occasion: Occasion): string {
  return occasion === 'default'
    ? `${declaredAt(name, path)}.default`
    : `entities.${name}.set.${occasion}.${path}`
}

function checkMe(field: Field, path: string, { entities }: Types, problems: Problems): void {
  const target = field.kind === 'reference' ? entities.get(field.target) : undefined
  if (target !== undefined && target.login === undefined)
    problems.push([path, `is me, but refers to ${target.name}, which cannot log in`])
}

function mistakeIn(
  value: CelValue,
  field: ProvidedField,
  about: { type: EntityType; occasion: Occasion },
  types: Types,
): string | undefined {
  try {
    for (const viewer of [undefined, ...types.logins]) {
      const expression = providedExpression(value, field, { ...about, viewer }, types)
      for (const column of columnsRead(expression)) {
        const read = fieldIn(about.type, column)
        if (read !== undefined && isLater(read, field, about.occasion))
          throw new Mistake(`reads ${read.path}, which is an expression itself`)
      }
    }
  } catch (error) {
    if (error instanceof Mistake) return error.message
    throw error
  }
  return undefined
}

/**
 * Whether the value read is not known yet. Expressions of one occasion run together, so none can read another. Those of
 * `set` can read defaults.
 */
function isLater(read: Field, field: Field, occasion: Occasion): boolean {
  const value = providedOf(read)[occasion]
  const isOwn = columnOf(read) === columnOf(field) && occasion === 'update'
  return !isOwn && value !== undefined && isServerValue(value) && value.server === 'cel'
}

/** The fields with provided values, and whether an object around them is optional. */
function* providedIn(
  fields: readonly Field[],
  optional = false,
): Generator<{ readonly field: ProvidedField; readonly optional: boolean }> {
  for (const field of fields) {
    if (field.kind === 'object') yield* providedIn(field.fields, optional || field.optional)
    else if (field.kind !== 'links' && field.provided !== undefined) yield { field, optional }
  }
}
