import type { Expression } from '../src/declare/cel/expression.ts'
import {
  boolean,
  datetime,
  decimal,
  entity,
  everyone,
  integer,
  list,
  number,
  object,
  ref,
  text,
} from '../src/takeback.ts'
import { withAdmins } from './declarations.ts'

/** A type with every kind of value, some behind rules, and lists short enough for nested searches. */
export const declaration = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: { name: text() } }),
  owners: entity({
    fields: { name: text(), user: ref('users'), at: datetime(), tags: list(text(), { max: 10 }) },
    access: { read: 'name != "hidden" && user.id == me.id' },
  }),
  rows: entity({
    fields: {
      title: text(),
      hidden: text({ read: 'owner.user.id == me.id ? sure : title == "seen"' }),
      count: integer(),
      price: decimal(),
      ratio: number(),
      sure: boolean(),
      starts: datetime(),
      words: list(text(), { max: 10 }),
      flags: list(boolean(), { max: 10 }),
      numbers: list(integer(), { max: 10 }),
      times: list(datetime(), { max: 10 }),
      lines: list(object({ note: text(), flag: boolean(), words: list(text(), { max: 10 }) }), {
        max: 10,
      }),
      owner: ref('owners'),
      owners: list(ref('owners'), { max: 10 }),
    },
    access: { read: everyone },
  }),
  notes: entity({
    fields: {
      text: text(),
      done: boolean(),
      row: ref('rows', { as: 'notes', read: 'done' }),
      by: ref('users', { as: 'notes' }),
      admin: ref('admins', { as: 'notes', optional: true }),
      rows: list(ref('rows', { as: 'mentions' }), { max: 10 }),
    },
    access: { read: 'by.id == me.id || row.notes.exists(n, n.by.id == me.id)' },
  }),
})

export type Kind = 'boolean' | 'text' | 'integer' | 'number' | 'decimal' | 'datetime'

/** An operator with a hole for one of its operands. */
export interface Operator {
  readonly of: Kind
  readonly to: Kind
  wrap(hole: string): string
}

const on = (of: Kind, to: Kind, wrap: (hole: string) => string): Operator => ({ of, to, wrap })

/** Every operator, with a hole in every operand that can be an expression. The compiler reports a missing operator. */
const operators: Readonly<Record<Expression['op'], readonly Operator[]>> = {
  constant: [],
  literal: [],
  now: [],
  value: [],
  there: [],
  made: [
    on('integer', 'boolean', (hole) => `((${hole} + 1) == null)`),
    on('text', 'boolean', (hole) => `((${hole} + "a") != null)`),
  ],
  shift: [on('datetime', 'datetime', (hole) => `(${hole} + duration("1h"))`)],
  size: [on('text', 'integer', (hole) => `size(${hole})`)],
  lower: [on('text', 'text', (hole) => `${hole}.lowerAscii()`)],
  and: [
    on('boolean', 'boolean', (hole) => `(${hole} && sure)`),
    on('boolean', 'boolean', (hole) => `(sure && ${hole})`),
  ],
  or: [
    on('boolean', 'boolean', (hole) => `(${hole} || sure)`),
    on('boolean', 'boolean', (hole) => `(sure || ${hole})`),
    // A literal is compared with each item.
    on('boolean', 'boolean', (hole) => `(true in [(${hole}), sure])`),
  ],
  not: [on('boolean', 'boolean', (hole) => `!(${hole} && sure)`)],
  compare: [
    ...['==', '!=', '<', '<=', '>', '>='].flatMap((how) => [
      on('text', 'boolean', (hole) => `(${hole} ${how} hidden)`),
      on('text', 'boolean', (hole) => `(owner.name ${how} ${hole})`),
      on('integer', 'boolean', (hole) => `(${hole} ${how} 3)`),
      on('datetime', 'boolean', (hole) => `(${hole} ${how} now)`),
      on('datetime', 'boolean', (hole) => `(owner.at - ${hole} ${how} duration("1h"))`),
    ]),
    on('boolean', 'boolean', (hole) => `((${hole}) == sure)`),
    on('boolean', 'boolean', (hole) => `(true != (${hole}))`),
    on('integer', 'boolean', (hole) => `(size(notes) > ${hole})`),
  ],
  in: [
    on('text', 'boolean', (hole) => `(${hole} in [title, "a"])`),
    on('text', 'boolean', (hole) => `(hidden in ["a", ${hole}, "b"])`),
    on('text', 'boolean', (hole) => `(owner.name in [${hole}])`),
    on('boolean', 'boolean', (hole) => `((${hole}) in [sure])`),
    on('integer', 'boolean', (hole) => `(${hole} in [1, 2])`),
  ],
  member: [
    on('text', 'boolean', (hole) => `(${hole} in words)`),
    on('text', 'boolean', (hole) => `(${hole} in owner.tags)`),
    on('boolean', 'boolean', (hole) => `((${hole}) in flags)`),
    on('integer', 'boolean', (hole) => `(${hole} in numbers)`),
    on('datetime', 'boolean', (hole) => `(${hole} in times)`),
  ],
  exists: [
    on('boolean', 'boolean', (hole) => `words.exists(w, w == "a" && (${hole}))`),
    on('boolean', 'boolean', (hole) => `owners.exists(o, o.name == "a" || (${hole}))`),
    on('boolean', 'boolean', (hole) => `lines.exists(l, l.words.exists(w, w == "a" && (${hole})))`),
    on('boolean', 'boolean', (hole) => `notes.exists(n, n.text == "a" && (${hole}))`),
    on('boolean', 'boolean', (hole) => `notes.exists(n, n.by.id == me.id && (${hole}))`),
    on('boolean', 'boolean', (hole) => `mentions.exists(n, n.id == 3 || (${hole}))`),
    on('boolean', 'boolean', (hole) => `me.notes.exists(n, n.row.id == id && (${hole}))`),
  ],
  all: [
    on('boolean', 'boolean', (hole) => `lines.all(l, l.flag || (${hole}))`),
    on('boolean', 'boolean', (hole) => `flags.all(f, f == (${hole}))`),
    on('boolean', 'boolean', (hole) => `notes.all(n, n.done || (${hole}))`),
    on('boolean', 'boolean', (hole) => `me.notes.all(n, n.done || (${hole}))`),
  ],
  startsWith: [
    on('text', 'boolean', (hole) => `${hole}.startsWith("a")`),
    on('text', 'boolean', (hole) => `${hole}.startsWith("")`),
    on('text', 'boolean', (hole) => `hidden.startsWith(${hole})`),
  ],
  endsWith: [
    on('text', 'boolean', (hole) => `${hole}.endsWith("a")`),
    on('text', 'boolean', (hole) => `owner.name.endsWith(${hole})`),
  ],
  contains: [
    on('text', 'boolean', (hole) => `${hole}.contains("a")`),
    on('text', 'boolean', (hole) => `hidden.contains(${hole})`),
  ],
  matches: [on('text', 'boolean', (hole) => `${hole}.matches("^a")`)],
  choose: [
    on('boolean', 'text', (hole) => `(${hole} ? "a" : hidden)`),
    on('text', 'text', (hole) => `(sure ? ${hole} : title)`),
    on('text', 'text', (hole) => `(sure ? owner.name : ${hole})`),
    on('boolean', 'integer', (hole) => `(${hole} ? 1 : count)`),
    on('integer', 'integer', (hole) => `(sure ? ${hole} : 2)`),
    on('boolean', 'datetime', (hole) => `(${hole} ? starts : owner.at)`),
    on('datetime', 'datetime', (hole) => `(sure ? ${hole} : now)`),
    on('boolean', 'boolean', (hole) => `(${hole} ? sure : title == "a")`),
    on('boolean', 'boolean', (hole) => `(sure ? (${hole}) : title == "a")`),
    on('boolean', 'boolean', (hole) => `(sure ? title == "a" : (${hole}))`),
  ],
  part: [
    on('datetime', 'integer', (hole) => `${hole}.year()`),
    on('datetime', 'integer', (hole) => `${hole}.weekday("Europe/Zurich")`),
    on('datetime', 'boolean', (hole) => `(${hole}.date("Asia/Kolkata") < "2026-01-01")`),
  ],
  concat: [
    on('text', 'text', (hole) => `(${hole} + title)`),
    on('text', 'text', (hole) => `("a" + ${hole})`),
  ],
  arithmetic: [
    ...['+', '-', '*', '/', '%'].flatMap((how) => [
      on('integer', 'integer', (hole) => `(${hole} ${how} 3)`),
      on('integer', 'integer', (hole) => `(count ${how} ${hole})`),
    ]),
    on('integer', 'integer', (hole) => `(-${hole})`),
    ...['+', '-', '*', '/'].flatMap((how) => [
      on('number', 'number', (hole) => `(${hole} ${how} 3)`),
      on('number', 'number', (hole) => `(ratio ${how} ${hole})`),
      on('integer', 'number', (hole) => `(ratio ${how} ${hole})`),
    ]),
    ...['+', '-', '/', '%'].flatMap((how) => [
      on('decimal', 'decimal', (hole) => `(${hole} ${how} 3.5)`),
      on('decimal', 'decimal', (hole) => `(price ${how} ${hole})`),
    ]),
    on('decimal', 'decimal', (hole) => `(${hole} * count)`),
    on('integer', 'decimal', (hole) => `(price * ${hole})`),
  ],
  decimal: [
    on('integer', 'decimal', (hole) => `(sure ? ${hole} : price)`),
    on('integer', 'boolean', (hole) => `(${hole} < price)`),
    on('decimal', 'boolean', (hole) => `(${hole} in [count, 2])`),
  ],
  order: [
    on('number', 'boolean', (hole) => `(${hole} < price)`),
    on('decimal', 'boolean', (hole) => `(${hole} == ratio)`),
  ],
  round: [
    on('decimal', 'decimal', (hole) => `round(${hole} * 1.5, 2)`),
    on('number', 'integer', (hole) => `round(${hole})`),
    on('number', 'decimal', (hole) => `round(${hole}, 2)`),
  ],
  abs: [
    on('integer', 'integer', (hole) => `abs(${hole})`),
    on('decimal', 'decimal', (hole) => `abs(${hole})`),
    on('number', 'number', (hole) => `abs(${hole})`),
  ],
  min: [
    on('integer', 'integer', (hole) => `min(${hole}, count, 3)`),
    on('decimal', 'decimal', (hole) => `min(price, ${hole})`),
    on('datetime', 'datetime', (hole) => `min(${hole}, now)`),
  ],
  max: [
    on('integer', 'decimal', (hole) => `max(price, ${hole})`),
    on('number', 'number', (hole) => `max(ratio, ${hole})`),
  ],
}
export const every = Object.entries(operators).flatMap(([op, some]) => some.map((one) => ({ op, ...one })))
const leaf: Readonly<Record<Kind, string>> = {
  boolean: 'sure',
  text: 'hidden',
  integer: 'count',
  number: 'ratio',
  decimal: 'price',
  datetime: 'starts',
}

/** Turns the result of an operator into its operand type, so that it can be nested in itself. */
export function back({ of, to }: Operator, inner: string): string {
  if (of === to) return inner
  const asBoolean = {
    boolean: inner,
    text: `(${inner} == "b")`,
    integer: `(${inner} == 2)`,
    number: `(${inner} == 2)`,
    decimal: `(${inner} == 2)`,
    datetime: `(${inner} < now)`,
  }[to]
  return {
    boolean: asBoolean,
    text: `(${asBoolean} ? "x" : title)`,
    integer: `(${asBoolean} ? 7 : count)`,
    number: `(${asBoolean} ? 7 : ratio)`,
    decimal: `(${asBoolean} ? 7 : price)`,
    datetime: `(${asBoolean} ? starts : now)`,
  }[of]
}

export const condition = (kind: Kind, inner: string) => back({ of: 'boolean', to: kind, wrap: String }, inner)

/** Nests an operator in itself, deeper and deeper, as long as `read` accepts it. */
export function nestings<Read>(operator: Operator, read: (filter: string) => Read | undefined): Read[] {
  const found: Read[] = []
  for (let inner = leaf[operator.of]; ; ) {
    const outer = operator.wrap(inner)
    const one = read(condition(operator.to, outer))
    if (one === undefined) return found
    found.push(one)
    inner = back(operator, outer)
  }
}
