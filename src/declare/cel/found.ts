import type { Expression, ListPlace, Place, Root } from './expression.ts'
import type { GivenLiteral } from './literal.ts'
import type { Node } from './parse.ts'
import type { Members } from './scope.ts'

/** What a part of an expression was found to be. */
export type Found =
  | { readonly is: 'expression'; readonly of: Expression; readonly choices?: readonly string[] | undefined }
  /** `choices`: the only values that it can have for the caller. */
  | { readonly is: 'literal'; readonly given: GivenLiteral; readonly choices?: readonly string[] | undefined }
  | { readonly is: 'null' }
  | { readonly is: 'duration'; readonly ms: number }
  | { readonly is: 'difference'; readonly later: Expression; readonly earlier: Expression }
  | { readonly is: 'composite'; readonly composite: Composite }
  | { readonly is: 'list'; readonly list: ListPlace; readonly members: Members | undefined }
  /** Something that this caller does not have, or a caller who is nobody. `like`: the value that other callers have. */
  | {
      readonly is: 'nothing'
      readonly candidates: readonly Members[]
      readonly like?: Expression | undefined
    }

/** An object or an Entity: not a value itself, but it has members. */
export interface Composite {
  readonly root: Root
  readonly hops: Place['hops']
  readonly members: Members
  /** The place that says whether it is present; undefined if it always is. */
  readonly there: Place | undefined
  /** The reference to follow for every member but the id. */
  readonly reference: { readonly column: string; readonly to: string } | undefined
}

/** A call of a function, or of a method with its receiver. */
export interface CelCall {
  readonly node: Node
  readonly name: string
  readonly receiver: Node | undefined
  readonly args: readonly Node[]
}

/** The reader of an expression, as the functions for one kind of part use it. */
export interface Reader {
  /** Throws a Mistake with the column of the node. */
  fail(node: Node, sentence: string): never
  find(node: Node): Found
  /** Reads an expression that must be true or false. */
  condition(node: Node): Expression
  literal(kind: Expression['kind'], scale: number, value: string | number | boolean): Expression
  /** A literal as a value of the target's kind. */
  coerce(node: Node, target: Expression, given: GivenLiteral, choices?: readonly string[]): Expression
  /** The number of variables for list items in scope. */
  readonly depth: number
  isTaken(name: string): boolean
  /** Runs with a variable that stands for one item of a list. */
  within<Result>(name: string, found: Found, run: () => Result): Result
}

export function foundExpression(of: Expression, choices?: readonly string[]): Found {
  return { is: 'expression', of, choices }
}
