import { expect, spyOn, test } from 'bun:test'
import { budget } from '../budget.ts'
import type { Position } from '../journal/position.ts'
import { FollowedList } from './followed-list.ts'
import { EventStream } from './stream.ts'

/** A list that has caught up, on a stream of its own. The stream ends when the token does. */
function listOf(isAlive: () => Promise<boolean>): { list: FollowedList; body: ReadableStream<Uint8Array> } {
  const stream = new EventStream({ stopping: new AbortController().signal, hangUp() {}, lists: 1 })
  const body = stream.open()
  const list = new FollowedList(stream, {
    hub: { leave() {} } as never,
    subscription: {} as never,
    callerId: null as never,
    from: 'early' as Position,
    textOf: (position) => position,
    pageAfter: () => Promise.reject(new Error('has caught up')),
    isAlive,
  })
  return { list, body }
}

/** As the hub does. */
function deliver(list: FollowedList, text: string): void {
  const position = text as Position
  list.position = position
  list.deliver({ position, operations: [{ position, events: ['{}'] }] })
}

test('a position is sent only after what came before it', async () => {
  const clock = spyOn(performance, 'now').mockReturnValue(2 * budget.heartbeatMs)
  // The token ends between the two.
  const answers = [true, false]
  const { list, body } = listOf(async () => answers.shift() ?? false)
  list.tick()
  deliver(list, 'late')
  clock.mockRestore()
  expect(await new Response(body).text()).toBe(':\nid: early\n\n')
})

test('a stream ends if nobody can tell whether its token is valid', async () => {
  const answers = [() => true, () => Promise.reject(new Error('no database'))]
  const { list, body } = listOf(async () => answers.shift()?.() ?? true)
  for (const position of ['second', 'third', 'fourth']) deliver(list, position)
  expect(await new Response(body).text()).toBe('id: second\ndata: {}\n\n')
})
