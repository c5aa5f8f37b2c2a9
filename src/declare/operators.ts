import type { JsonSchema } from './fields/field.ts'
import { decimalType, integerType, numberType } from './fields/number.ts'
import type { Field, LinksField, ValueField } from './model.ts'

/**
 * Operators in the body of a PATCH, such as `{"stock": {"$add": -1}}`. They change a value relative to its current one.
 * A field that can hold any object, such as `json`, has none.
 */
type Operator = '$add' | '$remove'

/** A field that has operators. */
export type Operable = ValueField | LinksField

const NUMBERS = ['integer', 'number', 'decimal']

/** The operators of a field; empty if it has none. */
export function operatorsOf(field: Field): readonly Operator[] {
  if (field.kind === 'links' || (field.kind === 'value' && field.type === 'list')) return ['$add', '$remove']
  return field.kind === 'value' && NUMBERS.includes(field.type) ? ['$add'] : []
}

export function isOperable(field: Field): field is Operable {
  return operatorsOf(field).length > 0
}

/** The JSON Schema of a field's operators; undefined if it has none. `one`: the schema of its values. */
export function operatorsSchema(field: Field, one: JsonSchema): JsonSchema | undefined {
  if (!isOperable(field)) return undefined
  const operand = operandSchema(field, one)
  const properties = Object.fromEntries(operatorsOf(field).map((key) => [key, operand]))
  return { type: 'object', properties, minProperties: 1, additionalProperties: false }
}

function operandSchema(field: Operable, one: JsonSchema): JsonSchema {
  if (field.kind === 'links' || field.type === 'list') return { type: 'array', items: one.items }
  if (field.type === 'integer') return integerType.schema({ type: 'integer' })
  if (field.type === 'number') return numberType.schema({ type: 'number' })
  return decimalType.schema({ type: 'decimal', scale: field.scale })
}
