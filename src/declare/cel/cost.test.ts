import { describe, expect, test } from 'bun:test'
import { budget } from '../../budget.ts'
import { viewersOf } from '../../plan/viewer/viewer.ts'
import { app, entity, integer, list, object, ref, text } from '../../takeback.ts'
import { resolve } from '../resolve.ts'
import { parseCondition } from './check.ts'
import { refuseCostly } from './cost.ts'

const model = resolve(
  app({
    admins: 'admins',
    entities: {
      admins: entity({
        login: { userType: 'admin' },
        fields: {
          name: text(),
          roles: list(text()),
          few: list(text(), { max: 9 }),
          friends: list(ref('nodes')),
        },
      }),
      nodes: entity({
        fields: {
          name: text(),
          body: text(),
          up: ref('nodes', { optional: true }),
          words: list(text()),
          nums: list(integer()),
          few: list(text(), { max: 100 }),
          some: list(text(), { max: 1000 }),
          lines: list(object({ note: text(), words: list(text()), few: list(text(), { max: 5 }) })),
          short: list(object({ note: text(), words: list(text()) }), { max: 10 }),
          links: list(ref('nodes')),
          pair: list(ref('nodes'), { max: 2 }),
        },
      }),
    },
  }),
)
const nodes = model.entities.get('nodes')
if (nodes === undefined) throw new Error('no nodes')
const scope = viewersOf(model).of({ kind: 'system' }).scopeOf(nodes)

const TOO_MANY = /can go through \d+ items for one Entity, more than 1000000:/
const parseRule = (text: string) => parseCondition(text, scope, budget.ruleItems)

describe('what goes through lists within lists is refused', () => {
  test.each([
    'nums.all(x, x in nums)',
    '!nums.exists(x, !(x in nums))',
    'nums.exists(x, size(nums) > x)',
    'words.exists(w, w in up.words)',
    'words.exists(w, w in me.roles)',
    'words.all(w, words.size() > 3 || w == "a")',
    'lines.exists(l, l.note in words)',
    'lines.exists(l, l.words.exists(w, w in words))',
    'lines.exists(l, l.few.exists(w, w in some))',
    'short.exists(s, s.words.exists(w, w in some))',
    'some.exists(a, a in some && a in some)',
    'links.exists(l, l.links.exists(m, m.name == "a"))',
    'links.exists(l, l.links.all(m, m.name == "a"))',
    'links.all(l, l.words.exists(w, w == l.name))',
    'links.exists(l, l.name in l.words)',
    'links.exists(l, size(l.links) > 3)',
    'links.exists(l, l.up.links.exists(m, m.id == l.id))',
    // These compare an id, but finding one item by its id is not enough.
    'links.exists(l, !l.links.exists(m, m.id == 3))',
    'links.exists(l, l.links.exists(m, m.id == 3 || m.name == "a"))',
    'links.exists(l, l.links.exists(m, m.id > 3))',
    'links.exists(l, l.links.exists(m, m.id == 3 && m.links.exists(n, n.up.links.exists(o, o.name == "a"))))',
  ])('%s', (filter) => {
    expect(() => parseRule(filter)).toThrow(TOO_MANY)
  })
})

describe('what goes through each once, through short ones, or finds by an index is not', () => {
  test.each([
    'nums.all(x, x > 3)',
    'nums.all(x, x > 3) && words.exists(w, w == "a") && lines.all(l, l.note == "b") && 3 in nums',
    'words.all(w, w in few)',
    'words.exists(w, w in me.few)',
    'some.exists(a, a in some)',
    'pair.exists(a, a.pair.exists(b, b.links.exists(c, c.name == "a")))',
    // Lists in the items of a list cannot have more items than its JSON.
    'lines.exists(l, l.words.exists(w, w == l.note))',
    'lines.exists(l, l.note in l.words && size(l.few) > 1)',
    'short.exists(s, s.words.exists(w, w == "a"))',
    'links.exists(l, l.id in me.friends)',
    'links.exists(l, l.links.exists(m, m.id == me.id))',
    'links.exists(l, l.links.exists(m, 3 == m.id && m.name == "a"))',
    'links.exists(l, l.links.exists(m, m.id == up.id && m.name == "a"))',
    'links.exists(l, 3 in l.links && l.up.id in l.links)',
    'me.friends.exists(f, f.id in links)',
  ])('%s', (filter) => {
    expect(() => parseRule(filter)).not.toThrow()
  })
})

test('in the past no index tells what a list has', () => {
  const filter = parseRule('links.exists(l, l.id in links)')
  expect(() => refuseCostly(filter, budget.ruleItems, false)).toThrow(TOO_MANY)
})

test('texts are searched in only so many times', () => {
  const searches = ['body.contains("a")', 'body.endsWith("a")', 'body.matches("a")', 'body.startsWith(name)']
  const all = (count: number) => Array.from({ length: count }, (_, at) => searches[at % 4]).join(' || ')
  expect(() => parseRule(all(10))).not.toThrow()
  expect(() => parseRule(all(11))).toThrow('searches in texts 11 times, more than 10')
  expect(() => parseRule(`words.exists(w, !(${all(11).replaceAll('body', 'w')}))`)).toThrow('searches')
  // A literal prefix is found by comparison, not by a search.
  const begins = Array.from({ length: 20 }, () => 'body.startsWith("a")').join(' || ')
  expect(() => parseRule(begins)).not.toThrow()
})

test('a filter may go through two lists within each other, and not three', () => {
  const filters = ['words.all(w, w in words)', 'links.exists(l, l.links.exists(m, m.name == "a"))']
  for (const filter of filters) expect(() => parseCondition(filter, scope, budget.filterItems)).not.toThrow()
  const three = 'links.exists(l, l.links.exists(m, m.links.exists(n, n.name == "a")))'
  expect(() => parseCondition(three, scope, budget.filterItems)).toThrow('needs a declared max')
})
