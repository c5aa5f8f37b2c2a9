import { expect, test } from 'bun:test'
import { type StackChange, stackOf } from './stack.ts'

const change = (operation: string, ...undoes: string[]): StackChange => ({ operation, undoes })
const names = ({ undo, redo }: ReturnType<typeof stackOf>) => [
  undo.map(({ operation }) => operation),
  redo.map(({ operation }) => operation),
]

test('an undo, an undo of that, and so on', () => {
  const [a, b] = [change('a'), change('b')]
  expect(names(stackOf([]))).toEqual([[], []])
  expect(names(stackOf([a, b]))).toEqual([['a', 'b'], []])
  expect(names(stackOf([a, b, change('c', 'b')]))).toEqual([['a'], ['c']])
  expect(names(stackOf([a, b, change('c', 'b'), change('d', 'a')]))).toEqual([[], ['c', 'd']])
  expect(names(stackOf([a, b, change('c', 'b'), change('d', 'a'), change('e', 'd')]))).toEqual([['e'], ['c']])
  expect(names(stackOf([a, b, change('c', 'b'), change('d')]))).toEqual([['a', 'd'], []])
})

test('several at once are one step', () => {
  const [a, b, c] = [change('a'), change('b'), change('c')]
  const undone = [a, b, c, change('d', 'c', 'b')]
  expect(names(stackOf(undone))).toEqual([['a'], ['d']])
  expect(names(stackOf([...undone, change('e', 'd')]))).toEqual([['a', 'e'], []])
})

test('whatever else takes something back is a change like any other', () => {
  const [a, b, c] = [change('a'), change('b'), change('c')]
  expect(names(stackOf([a, b, c, change('d', 'a')]))).toEqual([['a', 'b', 'c', 'd'], []])
  expect(names(stackOf([a, b, c, change('d', 'a', 'b')]))).toEqual([['a', 'b', 'c', 'd'], []])
  expect(names(stackOf([b, change('c', 'a')]))).toEqual([['c'], []])
})

test('is that of an editor, whatever is done', () => {
  for (let round = 0; round < 300; round++) {
    const changes: StackChange[] = []
    const [done, undone]: [string[], string[]] = [[], []]
    for (let at = 0; at < 40; at++) {
      const operation = `${at}`
      const dice = Math.random()
      const { undo, redo } = stackOf(changes)
      expect([undo.length, redo.length]).toEqual([done.length, undone.length])
      const next = dice < 0.4 ? undo.at(-1) : dice < 0.7 ? redo.at(-1) : undefined
      if (next === undefined) {
        done.push(operation)
        undone.length = 0
      } else if (dice < 0.4) undone.push(done.pop() ?? '')
      else done.push(undone.pop() ?? '')
      changes.push(next === undefined ? change(operation) : change(operation, next.operation))
    }
  }
})
