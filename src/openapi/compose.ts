import type { JsonSchema } from '../declare/fields/field.ts'
import { isRecord } from '../declare/record.ts'

/** Changes a schema and the schemas in it, but not defaults and examples, which may look like schemas. */
export function mapSchema(schema: JsonSchema, change: (one: JsonSchema) => JsonSchema): JsonSchema {
  const map = (one: unknown) => (isRecord(one) ? mapSchema(one, change) : one)
  const { properties, items, anyOf, ...rest } = change(schema)
  return {
    ...rest,
    ...(isRecord(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, map(one)])),
    }),
    ...(items !== undefined && { items: map(items) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(map) }),
  }
}
