import { expect, spyOn, test } from 'bun:test'
import { budget } from '../budget.ts'
import type { Position } from '../journal/position.ts'
import { FollowedList } from './followed-list.ts'
import { EventStream } from './stream.ts'

test('a position is sent only after what came before it', async () => {
  const clock = spyOn(performance, 'now').mockReturnValue(2 * budget.heartbeatMs)
  const stream = new EventStream({ stopping: new AbortController().signal, hangUp() {}, lists: 1 })
  const body = stream.open()
  // The token ends between the two.
  const answers = [true, false]
  const list = new FollowedList(stream, {
    hub: { leave() {} } as never,
    subscription: {} as never,
    eyes: null as never,
    from: 'early' as Position,
    textOf: (position) => position,
    pageAfter: () => Promise.reject(new Error('has caught up')),
    isAlive: async () => answers.shift() ?? false,
  })
  list.tick()
  const late = 'late' as Position
  list.position = late
  list.deliver({ position: late, operations: [{ position: late, events: ['{}'] }] })
  clock.mockRestore()
  expect(await new Response(body).text()).toBe(':\nid: early\n\n')
})
