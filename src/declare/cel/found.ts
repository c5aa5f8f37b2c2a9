import type { Expression, ListPlace, Place, Root } from './expression.ts'
import type { GivenLiteral } from './literal.ts'
import type { Node } from './parse.ts'
import type { Members } from './scope.ts'

/** What a part of an expression was found to be. */
export type Found =
  | { readonly is: 'expression'; readonly of: Expression; readonly choices?: readonly string[] | undefined }
  /** `choices`: the only ones that it could be, for whoever asks. */
  | { readonly is: 'literal'; readonly given: GivenLiteral; readonly choices?: readonly string[] | undefined }
  | { readonly is: 'null' }
  | { readonly is: 'duration'; readonly ms: number }
  | { readonly is: 'difference'; readonly later: Expression; readonly earlier: Expression }
  | { readonly is: 'thing'; readonly thing: Thing }
  | { readonly is: 'list'; readonly list: ListPlace; readonly members: Members | undefined }
  /** Of somebody who is not there, or does not have it; `like` is what others have. */
  | {
      readonly is: 'nothing'
      readonly candidates: readonly Members[]
      readonly like?: Expression | undefined
    }

/** An object or an Entity, which is no value itself but has some. */
export interface Thing {
  readonly root: Root
  readonly hops: Place['hops']
  readonly members: Members
  /** Where it says whether it is there; undefined where it always is. */
  readonly there: Place | undefined
  /** The reference to go over for all but its id. */
  readonly reference: { readonly column: string; readonly to: string } | undefined
}

/** A function, or a method of its receiver. */
export interface CelCall {
  readonly node: Node
  readonly name: string
  readonly receiver: Node | undefined
  readonly args: readonly Node[]
}

/** What understands the parts of an expression, for those who understand one kind of part. */
export interface Reader {
  /** Throws a Mistake that says where. */
  fail(node: Node, sentence: string): never
  find(node: Node): Found
  /** What says yes or no. */
  condition(node: Node): Expression
  literal(kind: Expression['kind'], scale: number, value: string | number | boolean): Expression
  /** A literal in the place of a value of the target's kind. */
  coerce(node: Node, target: Expression, given: GivenLiteral, choices?: readonly string[]): Expression
  /** How many names of items are known here. */
  readonly depth: number
  isTaken(name: string): boolean
  /** With a name that stands for one of a list. */
  within<Result>(name: string, found: Found, run: () => Result): Result
}

export function is(of: Expression, choices?: readonly string[]): Found {
  return { is: 'expression', of, choices }
}
