import type { Expression, ListPlace, Place } from '../../declare/cel/expression.ts'
import { behind } from './literals.ts'

/**
 * All that the SQL of an expression depends on, as a text: everything but the values that it binds. Two expressions of
 * one shape are one statement. Written by hand, since it is made for every filter that was not sent before.
 */
export function shapeOf(expression: Expression): string {
  switch (expression.op) {
    case 'constant':
      return String(expression.value)
    case 'literal':
      return `?${expression.at}${expression.kind}`
    case 'now':
      return `now ${expression.shift} ${expression.day ?? ''}`
    case 'value':
      return `${placeOf(expression.place)}:${expression.kind}${expression.scale}`
    case 'shift':
      return `shift(${shapeOf(expression.of)}, ${expression.by})`
    case 'size':
      return `size(${'op' in expression.of ? shapeOf(expression.of) : listOf(expression.of)})`
    case 'lower':
    case 'not':
      return `${expression.op}(${shapeOf(expression.of)})`
    case 'and':
    case 'or':
      return `${expression.op}(${allOf(expression.of)})`
    case 'compare':
      return `(${shapeOf(expression.left)} ${expression.how} ${shapeOf(expression.right)})`
    case 'there':
      return `there(${expression.not} ${placeOf(expression.place)})`
    case 'in':
      return `in(${shapeOf(expression.value)}, ${allOf(expression.of)})`
    case 'member':
      return `member(${shapeOf(expression.value)}, ${listOf(expression.list)})`
    case 'exists':
    case 'all':
      return `${expression.op}(${listOf(expression.list)} ${expression.depth} ${shapeOf(expression.condition)})`
    case 'startsWith': {
      const { text, part } = expression
      // What starts with a literal is a range, unless it has no end.
      const range = part.op === 'literal' && behind(String(part.value)) !== undefined
      return `startsWith(${shapeOf(text)}, ${shapeOf(part)} ${range})`
    }
    case 'endsWith':
    case 'contains':
    case 'matches':
      return `${expression.op}(${shapeOf(expression.text)}, ${shapeOf(expression.part)})`
    case 'choose': {
      const { condition, then, otherwise } = expression
      return `choose(${shapeOf(condition)}, ${shapeOf(then)}, ${shapeOf(otherwise)})`
    }
  }
}

function allOf(expressions: readonly Expression[]): string {
  let text = ''
  for (const one of expressions) text += `${shapeOf(one)}, `
  return text
}

/** Names have neither spaces nor brackets in them. */
function placeOf({ root, hops, column }: Place): string {
  let text: string = root.of
  if (root.of === 'me') text += ` ${root.entity}`
  if (root.of === 'item') text += ` ${root.depth}`
  for (const hop of hops) text += ` ${hop.column}>${hop.to}`
  return `${text} ${column}`
}

function listOf({ place, item }: ListPlace): string {
  if (item === 'object') return `[${placeOf(place)}]`
  return `[${placeOf(place)} ${'table' in item ? `${item.table}>${item.target}` : `${item.kind}${item.scale}`}]`
}
