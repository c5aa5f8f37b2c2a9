import { budget } from '../budget.ts'
import type { JsonSchema } from '../declare/fields/field.ts'

export function refTo(schema: string): JsonSchema {
  return { $ref: `#/components/schemas/${schema}` }
}

/** A list of as many as can be written in one go. */
export function manyOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items, minItems: 1, maxItems: budget.batchParts }
}
