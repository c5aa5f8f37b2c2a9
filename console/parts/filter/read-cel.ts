import type { Condition, FilterField, Literal, Operator } from './conditions.ts'

/** A token of a filter: a name, a value or a sign. */
interface Token {
  readonly kind: 'name' | 'value' | 'sign'
  readonly text: string
  readonly value?: Literal
}

const PIECES =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(-?\d+(?:\.\d+)?)|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(&&|\|\||[=!<>]=|[<>()[\],.!-]))/y

function tokensOf(text: string): readonly Token[] | undefined {
  const tokens: Token[] = []
  PIECES.lastIndex = 0
  const end = text.trimEnd().length
  while (PIECES.lastIndex < end) {
    const [, quoted, number, name, sign] = PIECES.exec(text) ?? []
    const token = quoted !== undefined ? quotedToken(quoted) : plainToken(number, name, sign)
    if (token === undefined) return undefined
    tokens.push(token)
  }
  return tokens
}

function quotedToken(text: string): Token | undefined {
  const inner = text.slice(1, -1)
  try {
    const value = JSON.parse(
      `"${text.startsWith("'") ? inner.replaceAll('"', '\\"').replaceAll("\\'", "'") : inner}"`,
    )
    return { kind: 'value', text, value }
  } catch {
    return undefined
  }
}

function plainToken(number?: string, name?: string, sign?: string): Token | undefined {
  if (number !== undefined) return { kind: 'value', text: number, value: Number(number) }
  if (name === 'true' || name === 'false') return { kind: 'value', text: name, value: name === 'true' }
  if (name !== undefined) return { kind: 'name', text: name }
  return sign === undefined ? undefined : { kind: 'sign', text: sign }
}

/**
 * Returns the conditions of a filter that could have been built by clicking. Undefined for any other: it can only be
 * shown and edited as text.
 */
export function conditionsOf(text: string, fields: readonly FilterField[]): readonly Condition[] | undefined {
  if (text.trim() === '') return []
  const tokens = tokensOf(text)
  if (tokens === undefined) return undefined
  const all = split(tokens, '&&').map((part) => conditionOf(part, fields))
  return all.every((one) => one !== undefined) ? all : undefined
}

/** Splits at a sign outside of parentheses. */
function split(tokens: readonly Token[], sign: string): readonly (readonly Token[])[] {
  const parts: Token[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    if (token.kind === 'sign' && '(['.includes(token.text)) depth++
    if (token.kind === 'sign' && ')]'.includes(token.text)) depth--
    if (depth === 0 && token.kind === 'sign' && token.text === sign) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}

/** The forms of conditions: `P` is a path, `V` a value, `L` values separated by commas. */
const FORMS: readonly (readonly [form: string, operator: Operator])[] = [
  ['P == null', 'empty'],
  ['P != null', 'filled'],
  ['size ( P ) == 0', 'empty'],
  ['size ( P ) > 0', 'filled'],
  ['P lowerAscii ( ) . contains ( V )', 'contains'],
  ['P lowerAscii ( ) . startsWith ( V )', 'starts'],
  ['fold ( P ) . contains ( V )', 'contains'],
  ['fold ( P ) . startsWith ( V )', 'starts'],
  ['P > now - duration ( V )', 'within'],
  ['( P != V || P == null )', 'not'],
  ['P == V', 'is'],
  ['P != V', 'not'],
  ['P >= V', 'least'],
  ['P <= V', 'most'],
  ['P > V', 'more'],
  ['P < V', 'less'],
  ['P > timestamp ( V )', 'after'],
  ['P < timestamp ( V )', 'before'],
  ['P in [ L ]', 'any'],
  ['V in P', 'has'],
]

interface Found extends Condition {
  readonly orEmpty: boolean
}

function conditionOf(tokens: readonly Token[], fields: readonly FilterField[]): Condition | undefined {
  for (const [form, operator] of FORMS) {
    const found = fit(form.split(' '), tokens)
    const orEmpty = form.includes('||')
    if (found !== undefined) return meant({ ...found, operator, orEmpty }, fields)
  }
  return undefined
}

function isMethod(part: string): boolean {
  return part === 'contains' || part === 'startsWith' || part === 'lowerAscii'
}

/** Matches tokens against a form. The tokenizer reads `.contains` as part of the name before it. */
function fit(form: readonly string[], tokens: readonly Token[]): Omit<Condition, 'operator'> | undefined {
  const values: Literal[] = []
  let path: string | undefined
  let at = 0
  for (const [place, part] of form.entries()) {
    const token = tokens[at++]
    if (token === undefined) return undefined
    if (part === 'P') {
      const method = form[place + 1] ?? ''
      if (token.kind !== 'name' || (isMethod(method) && !token.text.endsWith(`.${method}`))) return undefined
      const name = isMethod(method) ? token.text.slice(0, -1 - method.length) : token.text
      if (path !== undefined && path !== name) return undefined
      path = name
      if (isMethod(method)) at--
    } else if (part === 'V') {
      if (token.kind !== 'value' || token.value === undefined) return undefined
      values.push(token.value)
    } else if (part === 'L') {
      at--
      while (tokens[at]?.kind === 'value') {
        values.push(tokens[at]?.value ?? '')
        if (tokens[++at]?.text === ',') at++
      }
    } else if (token.text !== part && !(isMethod(part) && token.text.endsWith(`.${part}`))) return undefined
  }
  return at === tokens.length && path !== undefined ? { path, values } : undefined
}

/** Returns the meaning of a form for the type of the field; undefined if no click could build it. */
function meant({ orEmpty, ...found }: Found, fields: readonly FilterField[]): Condition | undefined {
  const path = found.path.replace(/\.id$/, '')
  const known = fields.find((one) => one.path === found.path) ?? fields.find((one) => one.path === path)
  if (known === undefined) return undefined
  const condition = { ...found, path: known.path }
  const { type } = known.field
  if (type === 'ref' && found.path !== known.path)
    return condition.operator === 'is' || condition.operator === 'any'
      ? { ...condition, operator: 'any' }
      : undefined
  // This condition excludes empty values; the one that a click builds would include them.
  if (condition.operator === 'not' && !orEmpty && known.field.nullable === true) return undefined
  if (type === 'choice' && condition.operator === 'is') return { ...condition, operator: 'any' }
  if (type === 'date' && condition.operator === 'more') return { ...condition, operator: 'after' }
  if (type === 'date' && condition.operator === 'less') return { ...condition, operator: 'before' }
  if (condition.operator === 'within') return withDays(condition)
  return condition
}

function withDays(condition: Condition): Condition | undefined {
  const hours = /^(\d+)h$/.exec(String(condition.values[0]))?.[1]
  const days = Number(hours) / 24
  return Number.isInteger(days) ? { ...condition, values: [days] } : undefined
}
