import { type Json, pathOf, type RequestOptions, requestOf, tagOf } from './api-request.ts'
import type { AnyHandle, EntityCalls } from './entities.ts'
import { type CallOptions, queryOf, type Transport } from './transport.ts'
import type { Part } from './types.ts'

interface SentPart {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly if_match?: string | undefined
}

interface BatchPart extends Part<unknown> {
  readonly at: number
}

/** Collects the writes of a batch. */
export class BatchParts {
  readonly sent: SentPart[] = []
  readonly names: string[] = []

  /** The writes of one Entity type. */
  of(name: string) {
    const add =
      (method: string, fixed: object = {}) =>
      (id: unknown, body?: unknown, { version, ...query }: RequestOptions = {}): BatchPart => {
        this.names.push(name)
        const at = this.sent.length
        this.sent.push({
          method,
          path: `/api/${pathOf(name, id)}${queryOf({ ...query, ...fixed })}`,
          body,
          if_match: tagOf(version),
        })
        // In the body of a later part, it becomes a reference: `{ "id": "$0.id" }`.
        return Object.defineProperty({ id: `$${at}.id` }, 'at', { value: at }) as BatchPart
      }
    const remove = (fixed?: object) => (id: unknown, options?: RequestOptions) =>
      add('DELETE', fixed)(id, undefined, options)
    return {
      create: (body: unknown) => add('POST')('', body),
      upsert: (body: unknown, options: RequestOptions) => add('PUT')('', body, options),
      update: add('PATCH'),
      replace: add('PUT'),
      delete: remove(),
      restore: remove({ restore: 1 }),
      purge: remove({ purge: 1 }),
    }
  }

  /** Sends the batch, and returns the results of the given parts. */
  async send(
    transport: Transport,
    parts: readonly BatchPart[],
    { options, entity }: { options: CallOptions | undefined; entity(name: string): EntityCalls },
  ): Promise<{ operation: string | null; results: (AnyHandle | null)[] }> {
    const { body, headers } = await transport.send(
      'POST',
      'batch/',
      requestOf(options as RequestOptions, this.sent),
    )
    const operation = headers.get('takeback-operation')
    // A repeated answer has no body if it was about Entities that are purged by now.
    const results = (body as { results: { body: Json | null }[] } | undefined)?.results
    return {
      operation,
      results: parts.map(({ at }) => {
        const data = results?.[at]?.body
        return data ? entity(this.names[at] as string).handle(data, operation) : null
      }),
    }
  }
}
