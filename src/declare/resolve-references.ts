import { didYouMean } from './closest.ts'
import type { ListDeclaration, OnDelete, RefDeclaration } from './define.ts'
import { checkGivenValues, checkOptions, dotted, type FieldPlace } from './field-place.ts'
import {
  aBoolean,
  aCount,
  aName,
  aValue,
  common,
  FIELD_NAME,
  minAboveMax,
  type OptionCheck,
  rules,
} from './fields/field.ts'
import type { Field, LinksField, ObjectField, Provided } from './model.ts'
import type { Problems } from './problems.ts'
import { unfitValue } from './provided.ts'
import { isServerValue } from './server-value.ts'
import { checkOf } from './values.ts'

const aReverse: OptionCheck = (value) =>
  typeof value === 'string' && FIELD_NAME.test(value)
    ? undefined
    : 'must be a name of letters, digits and _, starting with a letter'

const IN_ITEM =
  'is a reference deeper inside an item of a list; put it directly into the object of the item, or declare a type for the link'

export function resolveReference(
  name: string,
  declaration: RefDeclaration,
  place: FieldPlace,
  problems: Problems,
): Field | undefined {
  const { optional = false, unique = false } = declaration
  const { target, onDelete } = resolveArrow(declaration, place, problems)
  if (place.inList) checkInItem(declaration, place, problems)
  const { default: given } = declaration
  if (
    given !== undefined &&
    (!isServerValue(given) || unfitValue(given, { kind: 'reference' }) !== undefined)
  )
    problems.push([`${place.path}.default`, "must be me, or cel('…') with an expression for it"])
  if (onDelete === 'clear' && !optional && !place.inList)
    problems.push([
      `${place.path}.onDelete`,
      "is 'clear', which leaves the reference empty: add optional: true",
    ])
  return {
    kind: 'reference',
    name,
    path: dotted(place.dotPath, name),
    optional,
    target,
    onDelete,
    unique,
    as: declaration.as,
    provided: resolveDefault(declaration.default, place, problems),
    was: declaration.was,
    read: declaration.read,
    write: declaration.write,
    label: declaration.label,
    description: declaration.description,
  }
}

/** Refuses options that a reference in a list of objects cannot have. */
function checkInItem(
  declaration: RefDeclaration,
  { path, dotPath, linking }: FieldPlace,
  problems: Problems,
): void {
  const problem = (option: string, sentence: string) => problems.push([`${path}.${option}`, sentence])
  if (linking === undefined || linking !== dotPath) problems.push([path, IN_ITEM])
  if (declaration.optional !== undefined)
    problem('optional', 'cannot be used for the reference of an item: leave the item out of the list')
  if (declaration.unique !== undefined)
    problem('unique', 'cannot be used in a list: each list has an Entity only once already')
  if (declaration.default !== undefined) problem('default', 'cannot be used in a list')
  if (declaration.onDelete === 'clear')
    problem(
      'onDelete',
      "cannot be 'clear' in an item of a list, whose other values would be lost: use 'restrict' or 'cascade'",
    )
}

/** The default of a reference. It cannot be a constant, since no Entities exist yet. */
function resolveDefault(given: unknown, { path }: FieldPlace, problems: Problems): Provided | undefined {
  if (given === undefined) return undefined
  if (isServerValue(given) && unfitValue(given, { kind: 'reference' }) === undefined)
    return { default: given }
  problems.push([`${path}.default`, "must be me, or cel('…') with an expression for it"])
  return undefined
}

/** The target of a reference, and what happens when the target is deleted. */
function resolveArrow(
  declaration: RefDeclaration,
  { path, names }: FieldPlace,
  problems: Problems,
): { target: string; onDelete: OnDelete } {
  const { target, onDelete = 'restrict' } = declaration
  checkOptions(
    declaration,
    {
      optional: aBoolean,
      target: aValue,
      onDelete: aValue,
      unique: aBoolean,
      as: aReverse,
      default: aValue,
      was: aName,
      ...rules,
    },
    path,
    problems,
  )
  if (typeof target !== 'string' || !names.includes(target))
    problems.push([path, `refers to "${target}", which is not declared${didYouMean(String(target), names)}`])
  if (!['restrict', 'cascade', 'clear'].includes(onDelete))
    problems.push([`${path}.onDelete`, "must be 'restrict', 'cascade' or 'clear'"])
  return { target, onDelete }
}

/** A list of references. Options of each reference are in `ref()`, those of the list in `list()`. */
export function resolveLinks(
  name: string,
  declaration: LinksDeclaration,
  place: FieldPlace,
  problems: Problems,
): LinksField {
  const { path } = place
  const { items } = declaration
  const { target, onDelete } = resolveArrow(items, { ...place, path: `${path}.items` }, problems)
  checkLinks(declaration, path, problems)
  const field: LinksField = {
    kind: 'links',
    name,
    path: dotted(place.dotPath, name),
    optional: declaration.optional === true,
    target,
    onDelete,
    as: items.as,
    item: undefined,
    member: '',
    ...listOptions(declaration),
  }
  checkGivenValues(declaration, checkOf(field, 'whole'), path, problems)
  return field
}

/** A list of objects with a reference each. `item`: the resolved object. */
export function resolveEntries(
  name: string,
  declaration: ListDeclaration,
  item: ObjectField,
  { place, problems }: { readonly place: FieldPlace; readonly problems: Problems },
): LinksField | undefined {
  const [reference, ...more] = item.fields.filter((one) => one.kind === 'reference')
  if (reference === undefined) return undefined
  for (const one of more)
    problems.push([
      `${place.path}.items.${one.name}`,
      `is a second reference, beside ${reference.name}: an item of a list can have one; declare a type for the link`,
    ])
  checkListOptions(declaration, place.path, problems)
  const field: LinksField = {
    kind: 'links',
    name,
    path: dotted(place.dotPath, name),
    optional: declaration.optional === true,
    target: reference.target,
    onDelete: reference.onDelete,
    as: reference.as,
    item,
    member: reference.name,
    ...listOptions(declaration),
  }
  checkGivenValues(declaration, checkOf(field, 'whole'), place.path, problems)
  return field
}

/** The options of the list itself. */
function listOptions(declaration: ListDeclaration) {
  return {
    min: declaration.min ?? 0,
    max: declaration.max,
    default: declaration.default === undefined ? undefined : ([] as const),
    was: declaration.was,
    read: declaration.read,
    write: declaration.write,
    label: declaration.label,
    description: declaration.description,
    example: declaration.example,
  }
}

export type LinksDeclaration = ListDeclaration & { readonly items: RefDeclaration }

/** Refuses options that a list of references or its items cannot have. */
function checkLinks(declaration: LinksDeclaration, path: string, problems: Problems): void {
  const problem = (option: string, sentence: string) => problems.push([`${path}.${option}`, sentence])
  const { items } = declaration
  checkListOptions(declaration, path, problems)
  if (items.unique !== undefined) problem('items.unique', NOT_UNIQUE)
  if (items.default !== undefined) problem('items.default', 'cannot be used in a list')
  if (items.optional !== undefined)
    problem(
      'items.optional',
      'cannot be used for the items of a list: a missing item is simply not in the list',
    )
  for (const rule of ['read', 'write'] as const)
    if (items[rule] !== undefined) problem(`items.${rule}`, 'cannot be used in a list; put it on the list')
  if (items.was !== undefined) problem('items.was', 'cannot be used in a list: its items are not renamed')
}

const NOT_UNIQUE =
  'cannot be used for a list of references: a list has no duplicates, and several lists may have the same item'

function checkListOptions(declaration: ListDeclaration, path: string, problems: Problems): void {
  const problem = (option: string, sentence: string) => problems.push([`${path}.${option}`, sentence])
  const { unique, ...options } = declaration as ListDeclaration & { unique?: unknown }
  checkOptions(options, linksOptions, path, problems)
  if (unique !== undefined) problem('unique', NOT_UNIQUE)
  const conflict = minAboveMax(declaration)
  if (conflict !== undefined) problem(...conflict)
  const { default: given } = declaration
  if (given !== undefined && !(Array.isArray(given) && given.length === 0))
    problem('default', 'must be [], since no Entities exist yet')
}

const linksOptions = { ...common, items: aValue, min: aCount, max: aCount, default: aValue }
