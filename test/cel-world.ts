import type { FieldDeclaration } from '../src/declare/define.ts'
import type { Decimal, Numeric } from './cel-arithmetic.ts'

/** A value of the evaluator; `null` is a missing value, and an unknown truth. */
export type Value =
  | null
  | boolean
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'number'; readonly number: Numeric }
  /** A time. A date is the start of its day in UTC. */
  | { readonly is: 'time'; readonly ms: number }
  | { readonly is: 'duration'; readonly ms: number }
  | { readonly is: 'list'; readonly items: readonly Value[] }
  | { readonly is: 'composite'; get(name: string): Value }
  /** Any JSON, of which only the presence is known. */
  | { readonly is: 'json' }

export type Json = Readonly<Record<string, unknown>>
type Declarations = Readonly<Record<string, FieldDeclaration>>

/** The declaration and the data that the evaluator sees. */
export interface World {
  fieldsOf(type: string): Declarations
  /** Returns a live Entity, as the API answers it. */
  find(type: string, id: number): Json | undefined
  /** Returns the live referrers of an Entity under a name; undefined if there is no such name. */
  referring?(type: string, id: number, name: string): Referring | undefined
  /** The caller: the login type with its user type, and the Entity. */
  readonly me: { readonly type: string; readonly userType: string; readonly entity: Json } | null
}

export interface Referring {
  readonly type: string
  readonly entities: readonly Json[]
}

type Composite = Extract<Value, { is: 'composite' }>

export function callerOf({ type, userType, entity }: NonNullable<World['me']>, world: World): Composite {
  const own = entityOf(type, entity, world)
  return {
    is: 'composite',
    get: (name) => (name === 'type' ? { is: 'text', text: userType } : own.get(name)),
  }
}

const ownFields: Declarations = {
  id: { type: 'integer' },
  version: { type: 'integer' },
  created_at: { type: 'datetime' },
  updated_at: { type: 'datetime' },
  deleted_at: { type: 'datetime' },
}

export function entityOf(type: string, entity: Json, world: World): Composite {
  const own = objectOf({ ...world.fieldsOf(type), ...ownFields }, entity, world)
  return {
    is: 'composite',
    get(name) {
      const referring = world.referring?.(type, entity.id as number, name)
      if (referring === undefined) return own.get(name)
      return {
        is: 'list',
        items: referring.entities.map((one) => entityOf(referring.type, one, world)),
      }
    },
  }
}

function objectOf(fields: Declarations, json: Json, world: World): Composite {
  return {
    is: 'composite',
    get(name) {
      const field = fields[name]
      if (field === undefined) throw new Error(`there is no ${name}`)
      return fieldValue(field, json[name], world)
    },
  }
}

function fieldValue(field: FieldDeclaration, json: unknown, world: World): Value {
  if (json === null || json === undefined) return null
  switch (field.type) {
    case 'integer':
      return { is: 'number', number: BigInt(json as number) }
    case 'number':
      return { is: 'number', number: json as number }
    case 'decimal':
      return { is: 'number', number: decimalIn(json as string) }
    case 'boolean':
      return json as boolean
    case 'date':
    case 'datetime':
      return timeOf(json as string)
    case 'json':
      return { is: 'json' }
    case 'object':
      return objectOf(field.fields, json as Json, world)
    case 'list':
      return { is: 'list', items: (json as unknown[]).map((item) => fieldValue(field.items, item, world)) }
    case 'ref':
      return referenceOf(field.target, (json as { id: number }).id, world)
    default:
      return { is: 'text', text: json as string }
  }
}

function referenceOf(type: string, id: number, world: World): Composite {
  return {
    is: 'composite',
    get(name) {
      if (name === 'id') return { is: 'number', number: BigInt(id) }
      const target = world.find(type, id)
      return target === undefined ? null : entityOf(type, target, world).get(name)
    },
  }
}

/** Returns the digits of a decimal. */
export function decimalIn(text: string): Decimal {
  const [whole = '', fraction = ''] = text.split('.')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

export function timeOf(text: string): Extract<Value, { is: 'time' }> {
  return { is: 'time', ms: Date.parse(text) }
}
