import { expect, test } from 'bun:test'
import type { Errors } from '../../errors.ts'
import { Allowance, fillIn } from './references.ts'

const answered = [{ value: JSON.parse('{"id":7,"tags":[{"id":1},{"id":2}],"none":null}') }]

test('what an answer has is found at any depth, in lists by its place', () => {
  const errors: Errors = new Map()
  const sent = { a: '$0.tags.1.id', b: ['$0.tags', { c: '$0.none' }] }
  const found = { a: 2, b: [[{ id: 1 }, { id: 2 }], { c: null }] }
  expect([fillIn(sent, '', { answered, errors, allowance: new Allowance(sent) }), errors.size]).toEqual([
    found,
    0,
  ])
})

test('what only the language has is not found', () => {
  for (const path of ['tags.length', 'tags.2.id', 'tags.map', 'constructor', 'id.toFixed', '__proto__']) {
    const errors: Errors = new Map()
    fillIn({ a: `$0.${path}` }, '', { answered, errors, allowance: new Allowance({}) })
    expect([path, [...errors]]).toEqual([
      path,
      [['a', ['refers to a value that is not in the answer of part 0']]],
    ])
  }
})
