import type { Expression, ListPlace, Place, ValueExpression } from '../../declare/cel/expression.ts'
import { prefixEnd } from './literals.ts'

/**
 * Everything that the SQL of an expression depends on, as a text: all but the bound values. Expressions with the same
 * shape share a statement. Written by hand, since it runs for every filter that is not cached.
 */
export function expressionShape(expression: Expression): string {
  switch (expression.op) {
    case 'not':
      return `not(${expressionShape(expression.of)})`
    case 'and':
    case 'or':
      return `${expression.op}(${shapesOf(expression.of)})`
    case 'compare':
      return `(${expressionShape(expression.left)} ${expression.how} ${expressionShape(expression.right)})`
    case 'made':
      return `made(${expression.not} ${expressionShape(expression.of)})`
    case 'there':
      return `there(${expression.not} ${placeShape(expression.place)})`
    case 'in':
      return `in(${expressionShape(expression.value)}, ${shapesOf(expression.of)})`
    case 'member':
      return `member(${expressionShape(expression.value)}, ${listPlaceShape(expression.list)})`
    case 'exists':
    case 'all':
      return `${expression.op}(${listPlaceShape(expression.list)} ${expression.depth} ${expressionShape(expression.condition)})`
    case 'startsWith': {
      const { text, part } = expression
      // A literal prefix is a range, unless it has no upper bound.
      const range = part.op === 'literal' && prefixEnd(String(part.value)) !== undefined
      return `startsWith(${expressionShape(text)}, ${expressionShape(part)} ${range})`
    }
    case 'endsWith':
    case 'contains':
    case 'matches':
      return `${expression.op}(${expressionShape(expression.text)}, ${expressionShape(expression.part)})`
    default:
      return valueShape(expression)
  }
}

function valueShape(expression: ValueExpression): string {
  switch (expression.op) {
    case 'constant':
      return String(expression.value)
    case 'literal':
      return `${expression.fixed ? `=${JSON.stringify(expression.value)}` : `?${expression.at}`}${expression.kind}${expression.scale}`
    case 'now':
      return `now ${expression.shift} ${expression.day ?? ''}`
    case 'value':
      return `${placeShape(expression.place)}:${expression.kind}${expression.scale}`
    case 'shift':
      return `shift(${expressionShape(expression.of)}, ${expression.by})`
    case 'size':
      return `size(${'op' in expression.of ? expressionShape(expression.of) : listPlaceShape(expression.of)})`
    case 'lower':
      return `lower(${expressionShape(expression.of)})`
    case 'part':
      return `part(${expression.part} ${expression.zone} ${expressionShape(expression.of)})`
    case 'arithmetic': {
      const { how, left, right, kind, scale } = expression
      return `arithmetic(${kind}${scale} ${expressionShape(left)} ${how} ${expressionShape(right)})`
    }
    case 'order':
    case 'concat':
      return `${expression.op}(${expressionShape(expression.left)}, ${expressionShape(expression.right)})`
    case 'decimal':
      return `decimal(${expression.scale} ${expression.bounded} ${expressionShape(expression.of)})`
    case 'round':
    case 'abs':
      return `${expression.op}(${expression.kind}${expression.scale} ${expressionShape(expression.of)})`
    case 'min':
    case 'max':
      return `${expression.op}(${shapesOf(expression.of)})`
    case 'choose': {
      const { condition, then, otherwise } = expression
      return `choose(${expressionShape(condition)}, ${expressionShape(then)}, ${expressionShape(otherwise)})`
    }
  }
}

function shapesOf(expressions: readonly Expression[]): string {
  let text = ''
  for (const one of expressions) text += `${expressionShape(one)}, `
  return text
}

/** Names have neither spaces nor brackets in them. */
function placeShape({ root, hops, column }: Place): string {
  let text: string = root.of
  if (root.of === 'me') text += ` ${root.entity}`
  if (root.of === 'item') text += ` ${root.depth}`
  for (const hop of hops) text += ` ${hop.column}>${hop.to}`
  return `${text} ${column}`
}

function listPlaceShape({ place, item }: ListPlace): string {
  if (item === 'object') return `[${placeShape(place)}]`
  if ('from' in item) return `[${placeShape(place)} ${item.from}<${item.path}]`
  return `[${placeShape(place)} ${'table' in item ? `${item.table}>${item.target}` : `${item.kind}${item.scale}`}]`
}
