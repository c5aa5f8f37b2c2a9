/** What one operation did to an Entity: one version, or several in a row. */
export interface StackChange {
  readonly operation: string
  /** The operations that it took back. */
  readonly undoes: readonly string[]
}

/** The operations on an Entity that can be undone and redone, as in an editor. The last of each is next. */
export interface Stack<C extends StackChange> {
  readonly undo: readonly C[]
  /** Undos that can be taken back. */
  readonly redo: readonly C[]
}

/**
 * Builds the stack from the changes of an Entity, oldest first. An undo of the last changes moves them to `redo`. An
 * undo of the last undo is a redo. Any other change can be undone, and clears `redo`. If a change took back an
 * operation that is no longer known, it can be undone, but no earlier change can.
 */
export function stackOf<C extends StackChange>(changes: readonly C[]): Stack<C> {
  const known = new Set(changes.map(({ operation }) => operation))
  let undo: C[] = []
  let redo: C[] = []
  for (const change of changes) {
    const number = new Set(change.undoes).size
    const takesBack = (some: readonly C[]) =>
      number > 0 &&
      some.length >= number &&
      some.slice(-number).every(({ operation }) => change.undoes.includes(operation))
    if (takesBack(undo)) {
      undo.length -= number
      redo.push(change)
    } else if (takesBack(redo)) {
      redo.length -= number
      undo.push(change)
    } else if (change.undoes.some((operation) => !known.has(operation))) {
      undo = [change]
      redo = []
    } else {
      undo.push(change)
      redo = []
    }
  }
  return { undo, redo }
}
