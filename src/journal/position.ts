/**
 * A place in the journal: everything up to it was read. It is text that means nothing to clients: the incarnation of the
 * database, and a number. Positions of one incarnation are in the order of commits.
 */
export type Position = string & { readonly position: true }

export function positionAt(incarnation: string, seq: number): Position {
  return `${incarnation}-${seq}` as Position
}

/** Whether a text can be a position at all: what clients send back may be anything. */
export function isPosition(text: string): text is Position {
  return FORM.test(text)
}

export function positionParts(position: Position): { readonly incarnation: string; readonly seq: number } {
  const [, incarnation = '', seq = ''] = FORM.exec(position) ?? []
  return { incarnation, seq: Number(seq) }
}

const FORM = /^([0-9a-f]{12})-(\d{1,15})$/

/**
 * Nothing can be read from a position on: it is of another database or of another life of this one, or what came behind
 * it was cut by retention. Its reader must start over.
 */
export class PositionGone extends Error {
  constructor() {
    super('The journal cannot be read from this position on.')
  }
}
