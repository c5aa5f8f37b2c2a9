import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, id, intLiteral, param, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { DeliveryOutcome } from './send.ts'

const DELIVERIES = id('takeback_deliveries')

/** A recorded delivery. */
export interface DeliveryState extends DeliveryOutcome {
  readonly at: string
  readonly operation: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
}

const columns = namedColumns({
  at: sql`"at"`,
  operation: sql`"operation"`,
  attempt: sql`"attempt"`,
  status: sql`"status"`,
  error: sql`"error"`,
  ms: sql`"ms"`,
})

/** The log of the last requests to each webhook. */
export class Deliveries {
  readonly #store: Store
  readonly #add: readonly Step[]
  readonly #latest: Statement

  constructor(store: Store) {
    const { dialect } = store
    this.#store = store
    this.#add = addition(dialect)
    this.#latest = compile(
      sql`SELECT ${columns.sql} FROM ${DELIVERIES} WHERE "webhook" = ${param('$webhook')}
        ORDER BY "id" DESC LIMIT ${param('$most', 'integer')}`,
      dialect.placeholder,
      true,
    )
  }

  /** `store` is the store of the job. */
  async add(
    store: Store,
    { webhook, operation, attempt }: { webhook: string; operation: string; attempt: number },
    { status, error, ms }: DeliveryOutcome,
  ): Promise<void> {
    await store.write(this.#add, {
      $webhook: webhook,
      $operation: operation,
      $attempt: attempt,
      $status: status,
      $error: error,
      $ms: ms,
    })
  }

  /** Returns the latest deliveries, newest first. */
  async latest(webhook: string, most: number): Promise<DeliveryState[]> {
    const rows = await this.#store.read(this.#latest, { $webhook: webhook, $most: most })
    return rows.map(columns.read).map(({ at, operation, attempt, status, error, ms }) => ({
      at: String(at),
      operation: String(operation),
      attempt: Number(attempt),
      status: status === null ? null : Number(status),
      error: error === null ? null : String(error),
      ms: Number(ms),
    }))
  }
}

function addition(dialect: Dialect): readonly Step[] {
  const webhook = param('$webhook')
  const last = sql`SELECT d."id" FROM ${DELIVERIES} d WHERE d."webhook" = ${webhook} ORDER BY d."id" DESC LIMIT 1 OFFSET ${intLiteral(budget.webhookDeliveries - 1)}`
  return [
    step(
      dialect,
      'delivery',
      'any',
      sql`INSERT INTO ${DELIVERIES} ("webhook", "operation", "at", "attempt", "status", "error", "ms")
        VALUES (${webhook}, ${param('$operation')}, ${dialect.clock}, ${param('$attempt', 'integer')}, ${param('$status', 'integer')}, ${param('$error')}, ${param('$ms', 'integer')})`,
    ),
    step(
      dialect,
      'forget',
      'any',
      sql`DELETE FROM ${DELIVERIES} WHERE "webhook" = ${webhook} AND "id" < (${last})`,
    ),
  ]
}
