import { budget } from '../budget.ts'
import type { Webhook } from '../declare/model.ts'
import type { Feed, FeedChange, ReadOperation } from '../journal/feed.ts'
import type { UpcasterOf } from '../journal/upcast.ts'
import type { Message } from './signature.ts'

/** Reads an operation as a webhook is told of it. */
export interface OperationReading {
  readonly feed: Feed
  readonly upcasterOf: UpcasterOf
}

/** The pages of an operation's changes that a webhook is told of. */
export async function* selectedChanges(
  feed: Feed,
  { kinds }: Webhook,
  operation: ReadOperation,
): AsyncGenerator<FeedChange[]> {
  const entities = [...kinds.keys()]
  for (let { changes, rest } = operation; ; ) {
    yield changes.filter(({ entity, kind }) => kinds.get(entity)?.has(kind))
    if (rest === null) return
    const next = await feed.changes(operation.id, rest, entities)
    changes = next.changes
    rest = next.rest
  }
}

/** Whether a webhook is told of anything in it. */
export async function isSelected(feed: Feed, webhook: Webhook, operation: ReadOperation): Promise<boolean> {
  for await (const changes of selectedChanges(feed, webhook, operation)) if (changes.length > 0) return true
  return false
}

/**
 * An operation as it is sent: one message with its id, or several if it is too large for one. Nothing if there is nothing
 * to tell.
 */
export async function* messagesOf(
  { feed, upcasterOf }: OperationReading,
  webhook: Webhook,
  operation: ReadOperation,
): AsyncGenerator<Message> {
  let [part, texts, bytes] = [1, [] as string[], 0]
  for await (const changes of selectedChanges(feed, webhook, operation))
    for (const change of changes) {
      const text = textOf(change, upcasterOf)
      const size = Buffer.byteLength(text)
      // Only now it is known that there is another part.
      if (texts.length > 0 && bytes + size > budget.webhookBytes) {
        yield messageOf(operation, texts, { part, last: false })
        part++
        texts = []
        bytes = 0
      }
      texts.push(text)
      bytes += size
    }
  if (texts.length > 0) yield messageOf(operation, texts, part === 1 ? undefined : { part, last: true })
}

interface PartNumber {
  readonly part: number
  readonly last: boolean
}

function messageOf({ id, at, actor }: ReadOperation, texts: readonly string[], part?: PartNumber): Message {
  const head = JSON.stringify({ type: 'operation', operation: id, at, actor, ...part })
  return {
    id: part === undefined ? id : `${id}.${part.part}`,
    body: `${head.slice(0, -1)},"changes":[${texts.join(',')}]}`,
  }
}

/** In today's form, as history shows it. */
function textOf({ entity, id, version, kind, data, before }: FeedChange, upcasterOf: UpcasterOf): string {
  const upcaster = upcasterOf(entity)
  const state = (text: string) => upcaster.upcast(JSON.parse(text))
  return JSON.stringify({
    entity,
    id,
    version,
    kind,
    data: data === null ? null : state(data),
    ...(before !== null && { before: state(before) }),
  })
}
