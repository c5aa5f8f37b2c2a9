import { addError } from '../errors.ts'
import type { FieldDeclaration, ListDeclaration } from './define.ts'
import { aCount, aValue, common, type FieldType, type JsonSchema, minAboveMax } from './fields/field.ts'
import { decimalType, integerType, numberType } from './fields/number.ts'
import { type PasswordDeclaration, passwordType } from './fields/password.ts'
import { booleanType, jsonType, secretType } from './fields/plain.ts'
import { choiceType, emailType, textType, urlType } from './fields/text.ts'
import { dateType, datetimeType } from './fields/time.ts'
import type { Field } from './model.ts'
import { checkOf, objectSchema } from './values.ts'

/** Declarations of fields with one column. */
export type ValueDeclaration =
  | Exclude<FieldDeclaration, { type: 'object' | 'ref' | 'list' }>
  | PasswordDeclaration
  | ResolvedList

/** A list whose items are resolved: `item` is the field of each item. */
interface ResolvedList extends Omit<ListDeclaration, 'items'> {
  readonly item: Field
}

const listType: FieldType<ResolvedList> = {
  column: 'json',
  options: { ...common, items: aValue, min: aCount, max: aCount, default: aValue },
  conflict: minAboveMax,
  check({ item, min = 0, max = Number.POSITIVE_INFINITY }) {
    const checkItem = checkOf(item, 'whole')
    return (value, path, errors) => {
      if (!Array.isArray(value)) return addError(errors, path, 'must be a list')
      if (value.length < min) addError(errors, path, `must have at least ${min} items`)
      if (value.length > max) return addError(errors, path, `must have at most ${max} items`)
      return value.map((one, at) => {
        if (one !== null || item.optional)
          return one === null ? null : checkItem(one, `${path}.${at}`, errors)
        return addError(errors, `${path}.${at}`, 'must not be null')
      })
    }
  },
  schema: ({ item, min, max }) => ({
    type: 'array',
    items: itemSchema(item),
    ...(min !== undefined && { minItems: min }),
    ...(max !== undefined && { maxItems: max }),
  }),
}

function itemSchema(item: Field): JsonSchema {
  const { properties } = objectSchema([item], 'whole', 'in') as { properties: Record<string, JsonSchema> }
  return properties[item.name] ?? {}
}

const fieldTypes: {
  readonly [K in ValueDeclaration['type']]: FieldType<Extract<ValueDeclaration, { type: K }>>
} = {
  text: textType,
  email: emailType,
  url: urlType,
  choice: choiceType,
  integer: integerType,
  number: numberType,
  decimal: decimalType,
  boolean: booleanType,
  date: dateType,
  datetime: datetimeType,
  json: jsonType,
  secret: secretType,
  password: passwordType,
  list: listType,
}

/** The type of a field by its name. The table above pairs each type with its own declaration. */
export function fieldTypeOf(type: string): FieldType<ValueDeclaration> | undefined {
  return Object.hasOwn(fieldTypes, type)
    ? (fieldTypes as Record<string, FieldType<ValueDeclaration>>)[type]
    : undefined
}
