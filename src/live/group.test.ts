import { expect, spyOn, test } from 'bun:test'
import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import type { FeedOperation, FeedPage } from '../journal/feed.ts'
import { type Position, positionAt } from '../journal/position.ts'
import type { EventRequest } from './event-reader.ts'
import type { OperationEvents } from './events.ts'
import { Group, type Listener } from './group.ts'
import { ReadLanes } from './read-lanes.ts'

const INCARNATION = '0123456789ab'
const at = (seq: number) => positionAt(INCARNATION, seq)

/** A listener that notes its events, and the positions that it would send. */
function listenerAt(position: Position) {
  const told: string[] = []
  const listener: Listener = {
    subscription,
    callerId: null,
    position,
    isOver: false,
    deliver: (delivery) => told.push(...delivery.operations.flatMap(({ events }) => events)),
    tick: () => told.push(listener.position),
    end: () => told.push('end'),
  }
  return { listener, told }
}

const subscription = { key: '', types: [], usesMe: false, login: undefined, entities: ['rooms'] } as const

function pageOf(entity: string, seq: number, changes = 1): FeedPage {
  const change = { entity, id: 1, version: 1, kind: 'create', data: '{}', before: null }
  const operation: FeedOperation = {
    id: String(seq),
    at: '',
    actor: null,
    cause: null,
    position: at(seq),
    changes: Array(changes).fill(change),
    rest: null,
  }
  return { operations: [operation], next: at(seq), more: false, pending: false }
}

/** A group at the beginning, whose reader does what is given before it reads the events. */
function groupWith(before: () => Promise<void>): Group {
  const read = async ({ operations }: EventRequest): Promise<OperationEvents[]> => {
    await before()
    return operations.map(({ id, position }) => ({ position, events: new Map([[null, [id]]]) }))
  }
  return new Group(
    subscription,
    { eventReader: { read } as never, lanes: new ReadLanes(), onMore() {} },
    at(0),
  )
}

test('a position goes on with the journal, but never past what was not told', async () => {
  const gate = Promise.withResolvers<void>()
  const group = groupWith(() => gate.promise)
  const [early, late] = [listenerAt(at(0)), listenerAt(at(6))]
  for (const { listener } of [early, late]) group.add(listener)
  await group.take(pageOf('others', 5))
  group.tick()
  const taken = group.take(pageOf('rooms', 7))
  await group.take(pageOf('others', 8))
  group.tick()
  gate.resolve()
  await taken
  group.tick()
  expect(early.told).toEqual([at(5), at(5), '7', at(8)])
  expect(late.told).toEqual([at(6), at(6), '7', at(8)])
})

test('what cannot be told is tried again after a pause, then the listeners come back', async () => {
  let failures = 3
  let tries = 0
  const group = groupWith(async () => {
    tries++
    if (failures-- > 0) throw new Failure('unavailable')
  })
  const { listener, told } = listenerAt(at(0))
  group.add(listener)
  const clock = spyOn(performance, 'now')
  let now = 0
  const takeLater = (page: FeedPage) => {
    now += 60_000
    clock.mockReturnValue(now)
    return group.take(page)
  }
  for (const seq of [1, 2]) await takeLater(pageOf('rooms', seq))
  await group.take(pageOf('rooms', 3))
  expect([tries, told]).toEqual([2, []])
  for (const seq of [4, 5]) await takeLater(pageOf('others', seq))
  expect(told).toEqual(['1', '2', '3'])
  failures = 10
  for (const seq of [6, 7, 8, 9]) await takeLater(pageOf('rooms', seq))
  expect(told).toEqual(['1', '2', '3'])
  await takeLater(pageOf('rooms', 10))
  clock.mockRestore()
  expect(told).toEqual(['1', '2', '3', 'end'])
})

test('listeners come back if too much waits for them', async () => {
  const group = groupWith(() => new Promise(() => {}))
  const { listener, told } = listenerAt(at(0))
  group.add(listener)
  void group.take(pageOf('rooms', 1, budget.feedWaiting))
  expect(told).toEqual([])
  await group.take(pageOf('rooms', 2))
  expect(told).toEqual(['end'])
})
