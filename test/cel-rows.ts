import {
  app,
  boolean,
  choice,
  date,
  datetime,
  decimal,
  email,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  text,
  url,
} from '../src/takeback.ts'
import { DAYS, DECIMALS, Dice, INTEGERS, NUMBERS, TEXTS, TIMES } from './cel-values.ts'
import type { TestServer } from './harness.ts'

const optional = { optional: true } as const
/** Lists short enough for nested searches. */
const short = { optional: true, max: 20 } as const

/** The fields of callers. */
export const personFields = { name: text(optional), level: integer(optional) }

export const cFields = {
  name: text({ optional: true, fold: true }),
  count: integer(optional),
  price: decimal(optional),
  at: datetime(optional),
  tags: list(text(), short),
  info: object({ word: text(optional), deep: object({ flag: boolean(optional) }, optional) }),
}

export const bFields = {
  name: text({ fold: true }),
  day: date(optional),
  flag: boolean(optional),
  ratio: number(optional),
  lines: list(object({ price: decimal(optional), note: text(optional) }), short),
  info: object({ word: text(optional), deep: object({ count: integer(optional) }) }, optional),
  c: ref('cs', { optional: true, onDelete: 'clear', as: 'bs' }),
}

/** Entities that refer to the others. */
const dFields = {
  name: text({ optional: true, fold: true }),
  count: integer(optional),
  price: decimal(optional),
  flag: boolean(optional),
  at: datetime(optional),
  tags: list(text(), short),
  c: ref('cs', { optional: true, onDelete: 'clear', as: 'ds' }),
  b: ref('bs', { optional: true, onDelete: 'clear', as: 'ds' }),
  cs: list(ref('cs', { as: 'lists', onDelete: 'clear' }), { default: [] }),
  user: ref('users', { optional: true, as: 'ds' }),
  admin: ref('admins', { optional: true, as: 'ds' }),
}

/** For each type, its referrers: by name, their type and field. */
export const referring: Readonly<Record<string, Readonly<Record<string, readonly [string, string]>>>> = {
  cs: { bs: ['bs', 'c'], ds: ['ds', 'c'], lists: ['ds', 'cs'] },
  bs: { ds: ['ds', 'b'] },
  users: { ds: ['ds', 'user'] },
  admins: { ds: ['ds', 'admin'] },
}

/** Every kind of field, present or not: at the top, in objects, in lists, and behind references. */
export const rowFields = {
  name: text({ fold: true }),
  word: text({ optional: true, sort: 'fold' }),
  colour: choice(['Red', 'green', '%'], optional),
  mail: email(optional),
  site: url(optional),
  count: integer(optional),
  big: integer(optional),
  ratio: number(optional),
  price: decimal(optional),
  cost: decimal(optional),
  fine: decimal({ scale: 9, optional: true }),
  whole: decimal({ scale: 0, optional: true }),
  flag: boolean(optional),
  sure: boolean({ default: false }),
  day: date(optional),
  born: date(optional),
  starts: datetime(optional),
  ends: datetime(optional),
  anything: json(optional),
  tags: list(text(), short),
  numbers: list(integer(), short),
  ratios: list(number(), short),
  prices: list(decimal(), short),
  flags: list(boolean(), short),
  days: list(date(), short),
  times: list(datetime(), short),
  lines: list(
    object({
      price: decimal(optional),
      note: text(optional),
      count: integer(optional),
      ratio: number(optional),
      flag: boolean(optional),
      day: date(optional),
      at: datetime(optional),
      tags: list(text(), short),
      deep: object({ word: text(optional) }),
      maybe: object({ word: text(optional), inner: object({ flag: boolean(optional) }) }, optional),
    }),
    short,
  ),
  inner: object(
    {
      word: text({ optional: true, fold: true }),
      flag: boolean(optional),
      price: decimal(optional),
      deep: object({ count: integer(optional), tags: list(text(), short) }),
      maybe: object({ day: date(optional) }, optional),
      c: ref('cs', { optional: true, onDelete: 'clear' }),
    },
    optional,
  ),
  outer: object({ word: text(optional), maybe: object({ at: datetime(optional) }, optional) }),
  b: ref('bs', { optional: true, onDelete: 'clear' }),
}

export const fieldsOf = {
  admins: { ...personFields, email: email() },
  users: { ...personFields, email: email() },
  cs: cFields,
  bs: bFields,
  rows: rowFields,
  ds: dFields,
}

/** Declares one more type with the same fields for each rule, as its read rule. */
export function declarationWith(rules: readonly string[]) {
  const more = rules.map(
    (rule, at) => [`rows_${at}`, entity({ fields: rowFields, access: { read: rule } })] as const,
  )
  const types = ['rows', ...more.map(([name]) => name)]
  const refs = types.map(
    (name) => [name, ref(name, { optional: true, as: 'ds', onDelete: 'cascade' })] as const,
  )
  return app({
    admins: 'admins',
    entities: {
      admins: entity({ login: { userType: 'admin' }, fields: personFields }),
      users: entity({ login: { userType: 'user' }, fields: personFields, access: { create: everyone } }),
      cs: entity({ fields: cFields, access: { read: everyone } }),
      bs: entity({ fields: bFields, access: { read: everyone } }),
      rows: entity({ fields: rowFields, access: { read: everyone } }),
      ds: entity({ fields: { ...dFields, ...Object.fromEntries(refs) }, access: { read: everyone } }),
      ...Object.fromEntries(more),
    },
  })
}

type Body = Record<string, unknown>

export const ROWS = 60
const OTHERS = 10

/** Fills `cs` and `bs`, and deletes some of them. */
export async function fillTargets(server: TestServer): Promise<void> {
  const dice = new Dice(1)
  const cs = Array.from({ length: OTHERS }, () => cBody(dice))
  await server.expect(201, 'POST', '/api/cs/', cs)
  const bs = Array.from({ length: OTHERS }, () => bBody(dice))
  await server.expect(201, 'POST', '/api/bs/', bs)
}

export async function fillRows(server: TestServer, type: string): Promise<void> {
  const dice = new Dice(2)
  const rows = Array.from({ length: ROWS }, (_, at) => rowBody(dice, TEXTS[at % TEXTS.length] ?? ''))
  await server.expect(201, 'POST', `/api/${type}/`, rows)
}

/** Fills `ds` with Entities that refer to rows of a type, to the others, and to the callers. */
export async function fillReferring(
  server: TestServer,
  type: string,
  people: readonly Body[],
): Promise<void> {
  const dice = new Dice(3)
  const ds = Array.from({ length: ROWS }, () => dBody(dice, type, people))
  await server.expect(201, 'POST', '/api/ds/', ds)
}

/** Deletes some targets, which clears the references to them. */
export async function removeTargets(server: TestServer): Promise<void> {
  for (const path of ['cs/2', 'cs/5', 'bs/3', 'bs/7']) await server.expect(200, 'DELETE', `/api/${path}/`)
}

function cBody(dice: Dice): Body {
  return {
    name: dice.maybe(() => dice.one(TEXTS)),
    count: dice.maybe(() => dice.one(INTEGERS)),
    price: dice.maybe(() => dice.one(DECIMALS[2] ?? [])),
    at: dice.maybe(() => dice.one(TIMES)),
    tags: dice.maybe(() => dice.some(() => dice.one(TEXTS))),
    info: {
      word: dice.maybe(() => dice.one(TEXTS)),
      deep: dice.maybe(() => ({ flag: dice.maybe(() => dice.below(2) === 0) })),
    },
  }
}

function bBody(dice: Dice): Body {
  return {
    name: dice.one(TEXTS),
    day: dice.maybe(() => dice.one(DAYS)),
    flag: dice.maybe(() => dice.below(2) === 0),
    ratio: dice.maybe(() => dice.one(NUMBERS)),
    lines: dice.maybe(() =>
      dice.some(() => ({
        price: dice.maybe(() => dice.one(DECIMALS[2] ?? [])),
        note: dice.maybe(() => dice.one(TEXTS)),
      })),
    ),
    info: dice.maybe(() => ({
      word: dice.maybe(() => dice.one(TEXTS)),
      deep: { count: dice.maybe(() => dice.one(INTEGERS)) },
    })),
    c: dice.maybe(() => ({ id: 1 + dice.below(OTHERS) })),
  }
}

function dBody(dice: Dice, type: string, people: readonly Body[]): Body {
  const ids = new Set(dice.some(() => 1 + dice.below(OTHERS)))
  return {
    name: dice.maybe(() => dice.one(TEXTS)),
    count: dice.maybe(() => dice.one([-2, -1, 0, 1, 2, 3])),
    price: dice.maybe(() => dice.one(DECIMALS[2] ?? [])),
    flag: dice.maybe(() => dice.below(2) === 0),
    at: dice.maybe(() => dice.one(TIMES)),
    tags: dice.maybe(() => dice.some(() => dice.one(TEXTS))),
    c: dice.maybe(() => ({ id: 1 + dice.below(OTHERS) })),
    b: dice.maybe(() => ({ id: 1 + dice.below(OTHERS) })),
    cs: [...ids].map((id) => ({ id })),
    // Some targets have many referrers, and some have none.
    [type]: dice.maybe(() => ({ id: 1 + dice.below(ROWS / 2) })),
    ...dice.one([...people, {}, {}]),
  }
}

function rowBody(dice: Dice, name: string): Body {
  const decimalOf = (scale: number) => dice.maybe(() => dice.one(DECIMALS[scale] ?? []))
  const truth = () => dice.below(2) === 0
  const word = () => dice.maybe(() => dice.one(TEXTS))
  return {
    name,
    word: word(),
    colour: dice.maybe(() => dice.one(['Red', 'green', '%'])),
    mail: dice.maybe(() => dice.one(['a@example.com', 'B@example.com', 'b@example.org'])),
    site: dice.maybe(() => dice.one(['https://example.com/a', 'http://example.org/A?b=%20'])),
    count: dice.maybe(() => dice.one([-2, -1, 0, 1, 2, 3])),
    big: dice.maybe(() => dice.one(INTEGERS)),
    ratio: dice.maybe(() => dice.one(NUMBERS)),
    price: decimalOf(2),
    cost: decimalOf(2),
    fine: decimalOf(9),
    whole: decimalOf(0),
    flag: dice.maybe(truth),
    sure: truth(),
    day: dice.maybe(() => dice.one(DAYS)),
    born: dice.maybe(() => dice.one(DAYS)),
    starts: dice.maybe(() => dice.one(TIMES)),
    ends: dice.maybe(() => dice.one(TIMES)),
    anything: dice.one([null, 0, false, '', {}, []]),
    tags: dice.maybe(() => dice.some(() => dice.one(TEXTS))),
    numbers: dice.maybe(() => dice.some(() => dice.one(INTEGERS))),
    ratios: dice.maybe(() => dice.some(() => dice.one(NUMBERS))),
    prices: dice.maybe(() => dice.some(() => dice.one(DECIMALS[2] ?? []))),
    flags: dice.maybe(() => dice.some(truth)),
    days: dice.maybe(() => dice.some(() => dice.one(DAYS))),
    times: dice.maybe(() => dice.some(() => dice.one(TIMES))),
    lines: dice.maybe(() => dice.some(() => lineBody(dice))),
    inner: dice.maybe(() => ({
      word: word(),
      flag: dice.maybe(truth),
      price: decimalOf(2),
      deep: {
        count: dice.maybe(() => dice.one(INTEGERS)),
        tags: dice.maybe(() => dice.some(() => dice.one(TEXTS))),
      },
      maybe: dice.maybe(() => ({ day: dice.maybe(() => dice.one(DAYS)) })),
      c: dice.maybe(() => ({ id: 1 + dice.below(OTHERS) })),
    })),
    outer: { word: word(), maybe: dice.maybe(() => ({ at: dice.maybe(() => dice.one(TIMES)) })) },
    b: dice.maybe(() => ({ id: 1 + dice.below(OTHERS) })),
  }
}

function lineBody(dice: Dice): Body {
  const word = () => dice.maybe(() => dice.one(TEXTS))
  return {
    price: dice.maybe(() => dice.one(DECIMALS[2] ?? [])),
    note: word(),
    count: dice.maybe(() => dice.one(INTEGERS)),
    ratio: dice.maybe(() => dice.one(NUMBERS)),
    flag: dice.maybe(() => dice.below(2) === 0),
    day: dice.maybe(() => dice.one(DAYS)),
    at: dice.maybe(() => dice.one(TIMES)),
    tags: dice.maybe(() => dice.some(() => dice.one(TEXTS))),
    deep: { word: word() },
    maybe: dice.maybe(() => ({ word: word(), inner: { flag: dice.maybe(() => dice.below(2) === 0) } })),
  }
}
