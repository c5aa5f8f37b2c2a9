import { showsDefault } from '../api/model/model-access.ts'
import { no } from '../declare/cel/expression.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import { type EntityCheck, type EntityType, type Field, type Model, walk } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { nobody } from '../plan/viewer/actor.ts'
import { viewersOf } from '../plan/viewer/viewer.ts'
import { mapSchema } from './compose.ts'

/** Whether a field of a type is concealed. */
export type Conceals = (field: Field) => boolean

/** Conceals the defaults of fields that strangers can never see, since they read the documents too. */
export function concealedOf(type: EntityType, model: Model): Conceals {
  const stranger = viewersOf(model).of(nobody)
  return (field) => !showsDefault(stranger, type, field)
}

/** Conceals fields that are hidden even from strangers who may read the Entity. */
export function hiddenOf(type: EntityType, model: Model): Conceals {
  const stranger = viewersOf(model).of(nobody)
  return ({ path }) => stranger.mayField(type, path, 'read') === no
}

/** Removes the defaults of concealed fields from a schema. */
export function withoutConcealed(
  schema: JsonSchema,
  fields: readonly Field[],
  conceals: Conceals,
): JsonSchema {
  if (Array.isArray(schema.anyOf))
    return { ...schema, anyOf: schema.anyOf.map((one) => withoutConcealed(one, fields, conceals)) }
  if (!isRecord(schema.properties)) return schema
  const properties = { ...schema.properties }
  for (const field of fields) {
    const own = properties[field.name]
    if (!isRecord(own)) continue
    if (conceals(field)) properties[field.name] = withoutDefaults(own)
    else if (field.kind === 'object') properties[field.name] = withoutConcealed(own, field.fields, conceals)
  }
  return { ...schema, properties }
}

/** Removes the defaults of concealed fields. */
export function concealDefaults(fields: readonly Field[], conceals: Conceals): Field[] {
  return fields.map((field): Field => {
    if (field.kind === 'object') return { ...field, fields: concealDefaults(field.fields, conceals) }
    if (!conceals(field) || field.kind === 'reference') return field
    if (field.kind === 'links') return { ...field, default: undefined }
    return { ...field, default: undefined, schema: withoutDefaults(field.schema) }
  })
}

/** Removes the default of a schema, and those of the schemas in it. */
export function withoutDefaults(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, ({ default: _, ...rest }) => rest)
}

/** The checks on fields that strangers may see. */
export function shownChecks(type: EntityType, model: Model): readonly EntityCheck[] {
  if (type.checks.length === 0) return []
  const hidden = new Set([...walk(type.fields)].filter(hiddenOf(type, model)).map(({ path }) => path))
  return type.checks.filter(({ at }) => !hidden.has(at))
}
