import { expect, test } from 'bun:test'
import { budget } from '../budget.ts'
import { EventStream } from './stream.ts'

test('a client is cut off if it does not read, not because a frame is large', async () => {
  let isHungUp = false
  const stream = new EventStream({
    stopping: new AbortController().signal,
    hangUp() {
      isHungUp = true
    },
    lists: 1,
  })
  const reader = stream.open().getReader()
  const large = new Uint8Array(3 * budget.streamBytes)
  for (let sent = 0; sent < 3; sent++) {
    stream.send(large)
    expect(isHungUp).toBe(false)
    const drained = stream.drain()
    expect((await reader.read()).value?.length).toBe(large.length)
    await drained
  }
  stream.send(large)
  stream.send('more')
  expect([isHungUp, stream.isOver]).toEqual([true, true])
})
