/**
 * A place in the journal: everything up to it was read. It is a text with the incarnation of the database and a number,
 * opaque to clients. Positions of one incarnation are in commit order.
 */
export type Position = string & { readonly position: true }

export function positionAt(incarnation: string, seq: number): Position {
  return `${incarnation}-${seq}` as Position
}

/** Whether a text has the form of a position: clients may send anything. */
export function isPosition(text: string): text is Position {
  return FORM.test(text)
}

export function positionParts(position: Position): { readonly incarnation: string; readonly seq: number } {
  const [, incarnation = '', seq = ''] = FORM.exec(position) ?? []
  return { incarnation, seq: Number(seq) }
}

/** The later one of two positions of one incarnation. */
export function laterOf(one: Position, other: Position): Position {
  return positionParts(one).seq < positionParts(other).seq ? other : one
}

const FORM = /^([0-9a-f]{12})-(\d{1,15})$/

/**
 * Nothing can be read from a position: it belongs to another database or an earlier incarnation, or retention erased
 * what came after it. The reader must start over.
 */
export class PositionGone extends Error {
  constructor() {
    super('The journal cannot be read from this position on.')
  }
}
