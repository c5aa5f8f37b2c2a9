import type { EntityType, Field, Model } from '../../model.ts'

/** A possible continuation of a filter. */
export interface Completion {
  /** The text to insert in place of what was typed. */
  readonly insert: string
  readonly label: string
  /** A description, in a word or two. */
  readonly note: string
}

export interface Completions {
  /** The start of the text that it replaces. */
  readonly from: number
  readonly options: readonly Completion[]
}

const EVERY: Readonly<Record<string, string>> = {
  id: 'integer',
  created_at: 'datetime',
  updated_at: 'datetime',
  version: 'integer',
}
const METHODS: Readonly<Record<string, readonly string[]>> = {
  text: ['contains("', 'startsWith("', 'endsWith("', 'matches("', 'lowerAscii()'],
  datetime: ['year()', 'month()', 'day()', 'hour()', 'weekday()', 'date()'],
  date: ['year()', 'month()', 'day()', 'weekday()'],
  list: ['exists(one, ', 'all(one, '],
}
const GLOBALS = [
  'size(',
  'fold(',
  'has(',
  'now',
  'me.id',
  'timestamp("',
  'duration("',
  'min(',
  'max(',
  'round(',
  'true',
  'false',
  'null',
]
const MOST = 12

/** Returns completions at a place in a filter: fields, also of referenced types, functions, and choices. */
export function completionsAt(text: string, type: EntityType, model: Model): Completions {
  const value = /([A-Za-z_][\w.]*)\s*(?:==|!=|in\s*\[(?:[^\]]*,)?)\s*("?[\w-]*)$/.exec(text)
  if (value !== null) {
    const [, path = '', typed = ''] = value
    const options = valuesOf(fieldAt(path, type, model)).filter(({ insert }) => startsAlike(insert, typed))
    if (options.length > 0) return { from: text.length - typed.length, options }
  }
  const inText = (text.match(/"/g)?.length ?? 0) % 2 === 1
  const word = /[A-Za-z_][\w.]*$/.exec(text)?.[0] ?? ''
  if (inText || (word === '' && !/(^|&&|\|\||[(!])\s*$/.test(text))) return { from: text.length, options: [] }
  const [last = '', ...above] = word.split('.').reverse()
  const options = namesAfter(above.reverse(), type, model).filter(
    ({ label }) => startsAlike(label, last) && label !== last,
  )
  return { from: text.length - last.length, options: options.slice(0, MOST) }
}

function startsAlike(text: string, typed: string): boolean {
  return text.toLowerCase().startsWith(typed.toLowerCase())
}

function valuesOf(field: Field | undefined): readonly Completion[] {
  if (field?.type === 'choice')
    return (field.choices ?? []).map((one) => ({ insert: JSON.stringify(one), label: one, note: field.name }))
  if (field?.type === 'boolean')
    return ['true', 'false'].map((one) => ({ insert: one, label: one, note: field.name }))
  return []
}

/** Returns the fields of a type, or of the type that a path leads to. */
function namesAfter(above: readonly string[], type: EntityType, model: Model): readonly Completion[] {
  if (above.length === 0)
    return [
      ...namesOf(type.fields),
      ...Object.entries(EVERY).map(([name, note]) => ({ insert: name, label: name, note })),
      ...GLOBALS.map((name) => ({ insert: name, label: name, note: '' })),
    ]
  const field = fieldAt(above.join('.'), type, model)
  if (field?.type === 'ref') {
    const target = model.entities.find(({ name }) => name === field.to)
    return [...namesOf(target?.fields ?? []), { insert: 'id', label: 'id', note: 'integer' }]
  }
  if (field?.type === 'object') return namesOf(field.fields ?? [])
  const known = EVERY[above.join('.')]
  const kind = field?.type === 'email' || field?.type === 'url' ? 'text' : (field?.type ?? known ?? '')
  return (METHODS[kind] ?? []).map((name) => ({ insert: name, label: name, note: '' }))
}

function namesOf(fields: readonly Field[]): readonly Completion[] {
  return fields
    .filter(({ filterable, type }) => filterable !== false && type !== 'password' && type !== 'secret')
    .map(({ name, type, to }) => ({ insert: name, label: name, note: to ?? type }))
}

function fieldAt(path: string, type: EntityType, model: Model): Field | undefined {
  let fields: readonly Field[] = type.fields
  let found: Field | undefined
  for (const name of path.split('.')) {
    found = fields.find((field) => field.name === name)
    const target = model.entities.find((one) => one.name === found?.to)
    fields = found?.fields ?? target?.fields ?? []
  }
  return found
}
