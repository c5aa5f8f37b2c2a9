import { no } from '../../declare/cel/expression.ts'
import type { ComputedValue } from '../../declare/computed.ts'
import {
  type EntityType,
  type Field,
  isFilled,
  isReadOnly,
  type LinksField,
  providedOf,
  type ReferenceField,
  type ValueField,
} from '../../declare/model.ts'
import type { Rule } from '../../declare/rule.ts'
import type { FieldAction } from '../../declare/rules.ts'
import { defaultOf, isRequired, isSecret } from '../../declare/values.ts'
import type { Viewer } from '../../plan/viewer/viewer.ts'
import { type Possible, possible, showsDefault } from './model-access.ts'

/** For whom, and of which type, fields are described. */
export interface Describing {
  readonly viewer: Viewer
  readonly type: EntityType
  /** Whether the viewer passes every rule, and so may read the rules themselves. */
  readonly passes: boolean
  /** Whether the viewer may know that a type exists. */
  knows(type: string): boolean
}

/** The description of a field. */
export interface KnownField extends Shape {
  readonly path: string
}

/** The part of a description that does not depend on the place: the same for fields and for items of lists. */
interface Shape {
  readonly required: boolean
  readonly [key: string]: unknown
}

interface FieldMay {
  readonly read: Possible
  readonly create: Possible
  readonly update: Possible
}

/** Describes the fields of a type that the viewer can read or set, at least in some Entities. */
export function describeFields(about: Describing): KnownField[] {
  const { viewer, type, passes } = about
  const computed = viewer.may(type, 'read') === no ? [] : viewer.computed(type)
  return [
    ...fieldsIn(about, type.fields),
    ...computed.map((one) => computedField(one, passes ? type.computed.get(one.name)?.text : undefined)),
  ]
}

function fieldsIn(about: Describing, fields: readonly Field[]): KnownField[] {
  return fields.flatMap((field): KnownField[] => {
    const may = mayOf(about, field)
    if (field.kind === 'object') {
      const inner = fieldsIn(about, field.fields)
      return inner.length === 0 ? [] : [{ ...described(about, field, may), fields: inner }]
    }
    if (may.read === false && may.create === false && may.update === false) return []
    return [described(about, field, may)]
  })
}

/** What the viewer may do with a field: never more than they may do with the Entity. */
function mayOf({ viewer, type, passes }: Describing, field: Field): FieldMay {
  const both = (action: 'read' | 'create' | 'update', own: FieldAction): Possible => {
    const [whole, one] = [viewer.may(type, action), viewer.mayField(type, field.path, own)].map(possible)
    if (whole === false || one === false) return false
    return whole === true && one === true ? true : 'some'
  }
  const set = isReadOnly(field)
  // Users change their own password with another call.
  const isOwn = type.login !== undefined && field.path === 'password' && !passes
  return {
    read: isSecret(field) ? false : both('read', 'read'),
    create: set ? false : both('create', 'write'),
    update: set || isOwn ? false : both('update', 'change'),
  }
}

function described(about: Describing, field: Field, may: FieldMay): KnownField {
  const { read, write } = field
  const canSort = may.read !== false && isSingle(field)
  return {
    path: field.path,
    ...shapeOf(about, field),
    read_only: may.create === false && may.update === false,
    may,
    sortable: canSort,
    filterable: may.read !== false,
    ...(showsDefault(about.viewer, about.type, field) && defaultsOf(field)),
    ...(about.passes && (read !== undefined || write !== undefined) && { rules: ruleTexts({ read, write }) }),
  }
}

function shapeOf(about: Describing, field: Field): Shape {
  const named = {
    name: field.name,
    type: typeName(field),
    label: field.label ?? null,
    description: field.description ?? null,
    required: isRequired(field) && !isFilled(field) && !isReadOnly(field),
    nullable: field.optional,
  }
  switch (field.kind) {
    case 'object':
      return named
    case 'reference':
      return { ...named, ...referenceShape(about, field), unique: field.unique }
    case 'links':
      return { ...named, ...linksShape(about, field) }
    case 'value':
      return { ...named, ...valueShape(about, field) }
  }
}

function valueShape(about: Describing, field: ValueField): object {
  const { type, item, example } = field
  const isLogin = about.type.login !== undefined && field.path === 'email'
  return {
    ...field.limits,
    ...(type === 'decimal' && { scale: field.scale }),
    unique: field.unique || isLogin,
    search: field.search,
    fold: field.fold,
    ...(field.sortsFolded && { sort: 'fold' }),
    ...(example !== undefined && { example }),
    ...(item !== undefined && {
      items: itemShape(about, item, showsDefault(about.viewer, about.type, field)),
    }),
  }
}

/** Describes the items of a list. Paths of their fields begin in the item. */
function itemShape(about: Describing, item: Field, withDefaults: boolean): object {
  const { name: _, ...shape } = shapeOf(about, item)
  if (item.kind !== 'object') return shape
  const skipped = item.path.length + 1
  const inside = (fields: readonly Field[]): object[] =>
    fields.map((field) => ({
      path: field.path.slice(skipped),
      ...shapeOf(about, field),
      ...(withDefaults && defaultsOf(field)),
      ...(field.kind === 'object' && { fields: inside(field.fields) }),
    }))
  return { ...shape, fields: inside(item.fields) }
}

function referenceShape(about: Describing, { target, onDelete, as }: ReferenceField | LinksField): object {
  return {
    to: about.knows(target) ? target : null,
    on_delete: onDelete,
    ...(as !== undefined && { as }),
  }
}

function linksShape(about: Describing, field: LinksField): object {
  const { min, max, item, member } = field
  const reference = referenceShape(about, field)
  return {
    ...(min > 0 && { min }),
    ...(max !== undefined && { max }),
    ...reference,
    ...(item !== undefined && { member }),
    items:
      item === undefined
        ? { type: 'ref', required: true, nullable: false, ...reference }
        : itemShape(about, item, showsDefault(about.viewer, about.type, field)),
  }
}

function defaultsOf(field: Field): object {
  const given = defaultOf(field)
  const { default: provided } = providedOf(field)
  return {
    ...(given !== undefined && { default: given }),
    ...(provided !== undefined && { provided: provided.server === 'cel' ? 'server' : provided.server }),
  }
}

function computedField({ name, kind, scale }: ComputedValue, expression: string | undefined): KnownField {
  return {
    path: name,
    name,
    type: kind === 'reference' ? 'integer' : kind,
    label: null,
    description: null,
    required: false,
    nullable: true,
    computed: true,
    ...(expression !== undefined && { expression }),
    ...(kind === 'decimal' && { scale }),
    read_only: true,
    may: { read: 'some', create: false, update: false },
    sortable: true,
    filterable: true,
  }
}

/** The name of the field's type, as declared. */
function typeName(field: Field): string {
  if (field.kind === 'value') return field.type
  return field.kind === 'object' ? 'object' : field.kind === 'reference' ? 'ref' : 'list'
}

/** Whether lists can be sorted by the field. A reference is sorted by its id. */
function isSingle(field: Field): boolean {
  return field.kind === 'reference' || (field.kind === 'value' && field.column !== 'json')
}

/** Returns the declared rules as texts. */
export function ruleTexts(rules: Readonly<Record<string, Rule | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(rules).flatMap(([name, rule]): [string, string][] => {
      if (rule === undefined) return []
      return [[name, typeof rule === 'string' ? rule : rule.rule === 'everyone' ? 'everyone' : 'signedIn']]
    }),
  )
}
