import { expect, test } from 'bun:test'
import {
  changedPaths,
  type Draft,
  draftAt,
  enteredObject,
  isObject,
  withDraft,
} from '../../console/form/draft.ts'
import { mergePatch, parseJson } from '../../console/form/json-text.ts'
import { placeErrors } from '../../console/form/place-errors.ts'
import { rebase } from '../../console/form/rebase.ts'
import { bodyOf, patchOf, unsendable } from '../../console/form/send.ts'
import { type FormState, reduceForm } from '../../console/form/state.ts'

const field = (name: string, type: string, more: object = {}) => ({ name, type, nullable: true, ...more })
const fields = [
  field('title', 'text', { nullable: false }),
  field('count', 'integer'),
  field('price', 'decimal'),
  field('room', 'ref'),
  field('extra', 'json'),
  field('pin', 'secret'),
  field('address', 'object', { fields: [field('city', 'text'), field('zip', 'text')] }),
  field('lines', 'list', { items: { type: 'object', nullable: false, fields: [field('sku', 'text')] } }),
]
const data = {
  title: 'One',
  count: 3,
  price: '1.50',
  room: { id: 5 },
  extra: { a: 1, b: { c: 2 } },
  address: { city: 'Bern', zip: '3000' },
  lines: [{ sku: 'A' }, { sku: 'B' }],
}
const base = enteredObject(fields, data)

function typed(changes: Readonly<Record<string, Draft>>) {
  const draft = Object.entries(changes).reduce<Draft>((at, [path, value]) => withDraft(at, path, value), base)
  return isObject(draft) ? draft : base
}

test('a form that nobody touched sends nothing, and a copy of it sends all', () => {
  expect(patchOf(fields, base, base)).toEqual({})
  expect(bodyOf(fields, base)).toEqual(data)
})

test('only what was changed is sent, as the API takes it', () => {
  const draft = typed({
    title: '',
    count: '',
    price: '2,50',
    room: null,
    extra: '{"b": {"d": [null]}}',
    'address.city': 'Basel',
    'lines.1.sku': 'C',
    pin: '1234',
  })
  expect(patchOf(fields, base, draft)).toEqual({
    title: '',
    count: null,
    price: '2.50',
    room: null,
    extra: { a: null, b: { c: null, d: [null] } },
    pin: '1234',
    address: { city: 'Basel' },
    lines: [{ sku: 'A' }, { sku: 'C' }],
  })
  expect(changedPaths(fields, base, draft)).toContain('address.city')
  expect(patchOf(fields, base, typed({ count: 'many' }))).toEqual({ count: 'many' })
})

test('JSON that cannot be sent says where', () => {
  expect(unsendable(fields, base, typed({ extra: '{"a": 1,\n}' }))).toMatchObject({
    extra: { problem: 'syntax' },
  })
  expect(unsendable(fields, base, typed({ extra: '{"a": null}' }))).toEqual({ extra: { problem: 'null' } })
  expect(unsendable(fields, undefined, typed({ extra: '{"a": null}' }))).toEqual({})
  expect(parseJson('{"a": 1}')).toEqual({ value: { a: 1 } })
  expect(mergePatch([1], { a: 1 })).toEqual({ a: 1 })
})

test('what others save comes in where nobody has typed', () => {
  const draft = typed({ title: 'Mine', 'address.city': 'Basel', count: '4' })
  const theirs = { ...data, title: 'Theirs', count: 4, price: '9.00', address: { city: 'Bern', zip: '4000' } }
  const after = rebase(fields, base, draft, enteredObject(fields, theirs))
  expect(after.conflicts).toEqual(['title'])
  expect(after.updated).toEqual(['price', 'address.zip'])
  expect(
    ['title', 'count', 'price', 'address.city', 'address.zip'].map((path) => draftAt(after.draft, path)),
  ).toEqual(['Mine', '4', '9.00', 'Basel', '4000'])
})

test('an error goes when its field is changed, or an older draft comes back', () => {
  const state: FormState = {
    fields: [],
    base,
    draft: base,
    version: 1,
    errors: { title: ['is required'], lines: ['must have at least 3 items'] },
    updated: [],
    conflicts: {},
  }
  const change = { act: 'change', path: 'lines.0.sku', value: 'C' } as const
  expect(reduceForm(state, change).errors).toEqual({ title: ['is required'] })
  const kept = { base, draft: base, version: 1, at: '2027-05-01T12:00:00Z' }
  expect(reduceForm(state, { act: 'restore', kept }).errors).toEqual({})
})

test('errors stand at the nearest input', () => {
  const errors = {
    room: ['is required'],
    'room.id': ['is required'],
    'lines.1.sku': ['is wrong'],
    'lines.7': ['is none'],
    'extra.a.b': ['is odd'],
    hidden: ['is hidden'],
    '': ['is bad'],
  }
  expect(placeErrors(fields, base, errors)).toEqual({
    at: {
      room: ['is required'],
      'lines.1.sku': ['is wrong'],
      lines: ['is none'],
      extra: ['is odd'],
    },
    rest: { hidden: ['is hidden'], '': ['is bad'] },
  })
})
