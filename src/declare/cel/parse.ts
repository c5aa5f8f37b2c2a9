import type * as Cel from '@marcbachmann/cel-js'
import { budget } from '../../budget.ts'

export type Node = Cel.ASTNode

/** Loaded with the first expression: a server without any starts faster. */
function library(): typeof Cel {
  return require('@marcbachmann/cel-js')
}

/** A mistake in an expression: a sentence that says where. */
export class Mistake extends Error {}

/** Parses an expression into its tree, or throws a Mistake. */
export function parseCel(text: string): Node {
  if (text.trim() === '') throw new Mistake('is empty')
  if (Buffer.byteLength(text) > budget.expressionBytes)
    throw new Mistake(`is longer than ${budget.expressionBytes} bytes`)
  const tree = treeOf(text)
  const parts = countNodes(tree)
  if (parts > budget.expressionParts)
    throw new Mistake(`has ${parts} parts, more than ${budget.expressionParts}`)
  return tree
}

function treeOf(text: string): Node {
  const { parse: read, ParseError } = library()
  try {
    return read(text).ast
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    const [first = ''] = error.message.split('\n')
    const at = error.node?.pos ?? 0
    if (/limit|exceed/i.test(first)) throw new Mistake(`has more than ${budget.expressionParts} parts`)
    throw new Mistake(`${explain(first, text, at)} at column ${columnAt(text, at)}`)
  }
}

function explain(message: string, text: string, at: number): string {
  if (/EOF/.test(message)) return 'ends too early'
  if (/^Unterminated/.test(message)) return 'has a text without its closing quote'
  if (text[at] === '=') return 'has a single "="; an equality is written "=="'
  if (/^Unexpected (character|token)|^Expected/.test(message)) return `does not expect "${wordAt(text, at)}"`
  return message.charAt(0).toLowerCase() + message.slice(1)
}

function wordAt(text: string, at: number): string {
  return /^(\w+|[^\w\s]+)/.exec(text.slice(at))?.[0] ?? text.slice(at, at + 1)
}

/** The column of an offset, counted in characters from 1. */
export function columnAt(text: string, at: number): number {
  return [...text.slice(0, at)].length + 1
}

/** The first names of all paths in an expression, its own variables included. */
export function startingNames(node: Node, found: Set<string> = new Set()): Set<string> {
  if (node.op === 'id') found.add(node.args)
  for (const child of childrenOf(node)) startingNames(child, found)
  return found
}

function countNodes(node: Node): number {
  return childrenOf(node).reduce((sum, child) => sum + countNodes(child), 1)
}

function childrenOf(node: Node): readonly Node[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [node.args[0]]
    case 'call':
      return node.args[1]
    case 'rcall':
      return [node.args[1], ...node.args[2]]
    case 'list':
      return node.args
    case 'map':
      return node.args.flat()
    case '!_':
    case '-_':
      return [node.args]
    default:
      return node.args
  }
}
