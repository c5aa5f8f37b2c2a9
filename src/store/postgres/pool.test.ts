import { expect, test } from 'bun:test'
import { Pool } from './pool.ts'

test('if nobody listens, all that wait are told so at once, and nothing is tried over and over', async () => {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  probe.stop(true)
  const limits = { pool: 4, statementMs: 1000, connectMs: 60_000 }
  const pool = new Pool(`postgres://u:p@127.0.0.1:${probe.port}/d`, limits, {})
  const ask = () => pool.query({ text: 'SELECT 1', paramNames: [] }, {}).catch((error) => error.message)
  for (const many of [1, 8]) {
    const answers = await Promise.all(Array.from({ length: many }, ask))
    // The error must not be that no connection was free in time.
    expect(answers).toEqual(answers.map(() => 'Failed to connect'))
  }
  await pool.close()
})
