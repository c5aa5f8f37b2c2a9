import { allComputed } from '../declare/computed.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import {
  type EntityType,
  type Field,
  isReadOnly,
  type LinksField,
  type Model,
  type ReferenceField,
  type ValueField,
} from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { defaultOf, isRequired, objectSchema, providedDefault } from '../declare/values.ts'
import { type Conceals, concealedOf } from './concealed.ts'
import { type Content, code, type Html, html, joinHtml, nameCode } from './html.ts'

export function anchorOf(type: string): string {
  return `type-${type}`
}

export function typeLink(type: string): Html {
  return html`<a href="#${anchorOf(type)}">${type}</a>`
}

/** A row for each dot path: name and type, whether it is required, allowed values. */
export function fieldRows(type: EntityType, model: Model): Content[][] {
  const computed = allComputed(type, model).map(({ name, kind, scale }) =>
    row(name, kind, 'computed', kind === 'decimal' ? [`a string with ${scale} decimal places`] : []),
  )
  return [...rowsOfFields(type.fields, { type, conceals: concealedOf(type, model) }), ...computed]
}

interface FieldsOf {
  readonly type: EntityType
  readonly conceals: Conceals
}

/** `within` is the optional object around the fields, if any: they are required only if it is present. */
function rowsOfFields(fields: readonly Field[], about: FieldsOf, within?: string): Content[][] {
  const { type, conceals } = about
  return fields.flatMap((field) => {
    const need = presence(field, within, conceals)
    if (field.kind === 'value')
      return [
        row(field.path, typeName(field), need, [
          ...labelNotes(field),
          ...valueNotes(type, field),
          ...ruleNotes(field),
        ]),
        ...itemRows(field, conceals(field)),
      ]
    if (field.kind === 'reference')
      return [
        row(field.path, 'reference', need, [
          ...labelNotes(field),
          ...referenceNotes(field),
          ...ruleNotes(field),
        ]),
      ]
    if (field.kind === 'links')
      return [
        row(field.path, field.item === undefined ? 'list of references' : 'list of objects', need, [
          ...labelNotes(field),
          ...linksNotes(field),
          ...ruleNotes(field),
        ]),
        ...entryRows(field, conceals(field)),
      ]
    const inner = rowsOfFields(field.fields, about, field.optional ? field.path : within)
    return [
      row(field.path, 'object', need, [...labelNotes(field), 'the fields below', ...ruleNotes(field)]),
      ...inner,
    ]
  })
}

/** Says that there are rules, but not which: strangers read this too. */
function ruleNotes({ read, write }: Field): string[] {
  return [
    ...(read === undefined ? [] : ['not shown to everyone']),
    ...(write === undefined ? [] : ['not everyone may set it']),
  ]
}

/** The label of a field, then its description. */
function labelNotes({ label, description }: Field): Content[] {
  return [
    ...(label === undefined ? [] : [html`<strong>${label}</strong>`]),
    ...(description === undefined ? [] : [description]),
  ]
}

function row(path: string, type: string, need: Content, notes: readonly Content[]): Content[] {
  return [html`${nameCode(path)}<span class="type">${type}</span>`, need, joinHtml(notes, html`<br>`)]
}

function presence(field: Field, within: string | undefined, conceals: Conceals): Content {
  if (isReadOnly(field)) return 'set by the server'
  const provided = providedDefault(field)
  if (provided !== undefined) return conceals(field) ? 'optional' : provided.toLowerCase().replace('.', '')
  if (isRequired(field))
    return html`<strong>required</strong>${within === undefined ? '' : html` in ${nameCode(within)}`}`
  const given = defaultOf(field)
  if (given === undefined || conceals(field)) return 'optional'
  return html`<span class="default">default</span> ${code(JSON.stringify(given))}`
}

function typeName({ type, schema }: ValueField): string {
  return type === 'list' ? `list of ${nameSchema(schema.items)}` : type
}

/** Names the type of a list's items from their schema, since they have no field type. */
function nameSchema(schema: unknown): string {
  if (!isRecord(schema)) return 'values'
  if (Array.isArray(schema.anyOf)) return nameSchema(schema.anyOf[0])
  if (Array.isArray(schema.enum)) return 'choices'
  const names: Record<string, string> = {
    string: 'texts',
    integer: 'integers',
    number: 'numbers',
    boolean: 'booleans',
    object: 'objects',
    array: 'lists',
  }
  return names[String(schema.type)] ?? 'values'
}

function itemRows({ path, schema }: { path: string; schema: JsonSchema }, concealed: boolean): Content[][] {
  const items = isRecord(schema.items) ? schema.items : {}
  const properties = isRecord(items.properties) ? items.properties : {}
  const required = Array.isArray(items.required) ? items.required : []
  return Object.entries(properties).map(([name, one]) => {
    const inner = isRecord(one) ? one : {}
    const [bare] = Array.isArray(inner.anyOf) ? inner.anyOf : [inner]
    const need = required.includes(name)
      ? html`<strong>required</strong>`
      : inner.default === undefined || concealed
        ? 'optional'
        : html`<span class="default">default</span> ${code(JSON.stringify(inner.default))}`
    return row(
      `${path}.N.${name}`,
      nameSchema(bare).replace(/s$/, ''),
      need,
      limits(isRecord(bare) ? bare : {}),
    )
  })
}

/** The fields of the items of a list of objects with a reference each. */
function entryRows({ path, item }: LinksField, concealed: boolean): Content[][] {
  if (item === undefined) return []
  return itemRows({ path, schema: { items: objectSchema(item.fields, 'whole', 'in') } }, concealed)
}

const UNIQUE = 'unique (deleted Entities do not count)'

function valueNotes(type: EntityType, field: ValueField): Content[] {
  return [
    ...limits(field.schema),
    ...(field.type === 'decimal' ? [`a string with ${field.scale} decimal places`] : []),
    ...(field.secret ? ['stored as a hash, never returned'] : []),
    ...(isUnique(type, field) ? [UNIQUE] : []),
    ...(field.search ? [html`searched by ${code('search')}`] : []),
    ...(field.fold ? [html`filtered by ${code(`fold(${field.path})`)}`] : []),
    ...(field.sortsFolded ? ['sorted ignoring capitals and accents'] : []),
    ...(field.example === undefined ? [] : [html`for example ${code(JSON.stringify(field.example))}`]),
  ]
}

/** The e-mail of a login type is always unique. */
function isUnique(type: EntityType, { path, unique }: ValueField): boolean {
  return unique || (type.login !== undefined && path === 'email')
}

function limits(schema: JsonSchema): Content[] {
  const { pattern, format, description } = schema
  return [
    ...(Array.isArray(schema.enum)
      ? [
          html`one of ${joinHtml(
            schema.enum.map((one) => code(String(one))),
            ', ',
          )}`,
        ]
      : []),
    ...range(schema.minLength, schema.maxLength, 'character'),
    ...range(bound(schema.minimum), bound(schema.maximum)),
    ...range(schema.minItems, schema.maxItems, 'item'),
    // The pattern of a decimal adds nothing to its type.
    ...(typeof pattern === 'string' && schema.examples === undefined ? [html`matches ${code(pattern)}`] : []),
    ...(typeof description === 'string' ? [description] : []),
    ...(typeof format === 'string' ? (formats.get(format) ?? []) : []),
  ]
}

const formats = new Map<string, Content[]>([
  ['date', [html`a date: <code>2026-12-31</code>`]],
  ['date-time', ['a time with a time zone (RFC 3339)']],
  ['uri', ['starts with http:// or https://']],
])

/** Every integer is limited to safe integers, so that limit is not shown. */
function bound(value: unknown): unknown {
  return Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value
}

function range(min: unknown, max: unknown, unit?: string): string[] {
  const units = (count: unknown) => (unit === undefined ? '' : ` ${unit}${count === 1 ? '' : 's'}`)
  if (min === undefined && max === undefined) return []
  if (max === undefined) return [`at least ${min}${units(min)}`]
  if (min === undefined) return [`at most ${max}${units(max)}`]
  return min === max ? [`exactly ${min}${units(min)}`] : [`${min} to ${max}${units(max)}`]
}

function referenceNotes({ target, onDelete, unique }: ReferenceField): Content[] {
  const effects = {
    restrict: ', which cannot be deleted while this refers to it',
    cascade: '; deleted and restored together with it',
    clear: '; cleared when it is deleted, set again when it is restored',
  }
  return [html`one of ${typeLink(target)}${effects[onDelete]}`, ...(unique ? [UNIQUE] : [])]
}

function linksNotes({ target, onDelete, min, max }: LinksField): Content[] {
  const effects = {
    restrict: ', which cannot be deleted while this refers to them',
    cascade: '; deleted and restored together with any of them',
    clear: '; an item is removed when it is deleted, and put back when it is restored',
  }
  return [
    html`a list of ${typeLink(target)}${effects[onDelete]}`,
    'without duplicates',
    ...range(min > 0 ? min : undefined, max, 'item'),
  ]
}
