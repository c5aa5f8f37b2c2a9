import { budget } from '../budget.ts'
import type { FeedChange, ReadOperation } from '../journal/feed.ts'
import type { WebhookSelection } from './selection.ts'
import type { Message } from './signature.ts'

/**
 * The messages of an operation: one with its id, or several if it is too large. None if the webhook wants none of its
 * changes.
 */
export async function* messagesOf(
  selection: WebhookSelection,
  operation: ReadOperation,
): AsyncGenerator<Message> {
  let [part, texts, bytes] = [1, [] as string[], 0]
  for await (const changes of selection.of(operation))
    for (const change of changes) {
      const text = textOf(change)
      const size = Buffer.byteLength(text)
      // Only now it is known that another part follows.
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

/** Formats a change. Its states are JSON already. */
function textOf({ entity, id, version, kind, data, before }: FeedChange): string {
  const head = JSON.stringify({ entity, id, version, kind })
  return `${head.slice(0, -1)},"data":${data}${before === null ? '' : `,"before":${before}`}}`
}
