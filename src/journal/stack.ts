/** What one operation did to an Entity: one version, or several in a row. */
export interface StackChange {
  readonly operation: string
  /** Operations that it took back. */
  readonly undoes: readonly string[]
}

/** What can be undone and redone of an Entity, as in an editor: the last of each is the next. */
export interface Stack<C extends StackChange> {
  readonly undo: readonly C[]
  /** Undos that can be taken back. */
  readonly redo: readonly C[]
}

/**
 * From the changes of an Entity, oldest first. An undo of the last change, or of the last few, moves that to what can be
 * redone; an undo of the last undo is a redo. Whatever else happens to the Entity is a change of its own, which can be
 * undone, and after which there is nothing to redo. Where a change took back something that is not known any more,
 * nothing before it is.
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
