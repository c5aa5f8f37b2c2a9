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

/** A listener that records its events, and the positions that it would send. */
function listenerAt(position: Position) {
  const recorded: string[] = []
  const listener: Listener = {
    subscription,
    callerId: null,
    position,
    isOver: false,
    deliver: (delivery) => recorded.push(...delivery.operations.flatMap(({ events }) => events)),
    tick: () => recorded.push(listener.position),
    end: () => recorded.push('end'),
  }
  return { listener, recorded }
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

test('a position advances with the journal, but never past what is not delivered', async () => {
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
  expect(early.recorded).toEqual([at(5), at(5), '7', at(8)])
  expect(late.recorded).toEqual([at(6), at(6), '7', at(8)])
})

test('a failed read is tried again after a pause, and after five failures the listeners end', async () => {
  let failures = 3
  let tries = 0
  const group = groupWith(async () => {
    tries++
    if (failures-- > 0) throw new Failure('unavailable')
  })
  const { listener, recorded } = listenerAt(at(0))
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
  expect([tries, recorded]).toEqual([2, []])
  for (const seq of [4, 5]) await takeLater(pageOf('others', seq))
  expect(recorded).toEqual(['1', '2', '3'])
  failures = 10
  for (const seq of [6, 7, 8, 9]) await takeLater(pageOf('rooms', seq))
  expect(recorded).toEqual(['1', '2', '3'])
  await takeLater(pageOf('rooms', 10))
  clock.mockRestore()
  expect(recorded).toEqual(['1', '2', '3', 'end'])
})

test('listeners end if too much waits for them', async () => {
  const group = groupWith(() => new Promise(() => {}))
  const { listener, recorded } = listenerAt(at(0))
  group.add(listener)
  void group.take(pageOf('rooms', 1, budget.feedWaiting))
  expect(recorded).toEqual([])
  await group.take(pageOf('rooms', 2))
  expect(recorded).toEqual(['end'])
})
