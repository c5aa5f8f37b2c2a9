import { expect, test } from 'bun:test'
import { budget } from '../budget.ts'
import { ReadLanes } from './read-lanes.ts'

test('few groups read at once, and slow ones do not delay quick ones', async () => {
  const lanes = new ReadLanes()
  const gate = Promise.withResolvers<string>()
  let reading = 0
  const wait = () => {
    reading++
    return gate.promise
  }
  const startAll = (lastMs: number) => Array.from({ length: 20 }, () => lanes.run(lastMs, wait))
  const slow = startAll(budget.feedDeliveryMs + 1)
  const usual = startAll(budget.feedDeliveryMs)
  await Bun.sleep(0)
  expect(reading).toBe(budget.feedSlowReads + budget.feedReads)
  expect(await lanes.run(0, async () => 'quick')).toBe('quick')
  gate.resolve('done')
  expect(new Set(await Promise.all([...slow, ...usual]))).toEqual(new Set(['done']))
  expect(reading).toBe(40)
})

test('a read that takes long gives up its place, and a failed one throws', async () => {
  const lanes = new ReadLanes()
  for (let at = 0; at < budget.feedReads; at++) void lanes.run(0, () => new Promise(() => {}))
  expect(await lanes.run(0, async () => 'next')).toBe('next')
  await expect(lanes.run(0, () => Promise.reject(new Error('wrong')))).rejects.toThrow('wrong')
})
