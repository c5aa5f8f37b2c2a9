import { allComputed } from '../declare/computed.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import type { EntityType, Model } from '../declare/model.ts'

const schemas: Readonly<Record<string, JsonSchema>> = {
  integer: { type: 'integer' },
  reference: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  datetime: { type: 'string', format: 'date-time' },
}

/** The schemas of a type's computed fields. Their expressions are not shown to everybody. */
export function computedSchemas(type: EntityType, model: Model): Record<string, JsonSchema> {
  return Object.fromEntries(
    allComputed(type, model).map(({ name, kind, scale }) => {
      const digits = kind === 'decimal' ? ` An exact decimal with ${scale} decimal places.` : ''
      const schema = schemas[kind] ?? { type: 'string' }
      const description = `Computed.${digits}`
      return [name, { anyOf: [schema, { type: 'null' }], readOnly: true, description }]
    }),
  )
}

/** Sample values of computed fields. */
export function computedSamples(type: EntityType, model: Model): Record<string, unknown> {
  const samples: Readonly<Record<string, unknown>> = {
    boolean: true,
    date: '2026-12-31',
    datetime: '2026-12-31T18:00:00.000Z',
    text: 'computed',
  }
  return Object.fromEntries(
    allComputed(type, model).map(({ name, kind, scale }) => [
      name,
      kind === 'decimal' ? (1).toFixed(scale) : (samples[kind] ?? 1),
    ]),
  )
}
