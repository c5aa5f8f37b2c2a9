// npm run test:faults: loses a PostgreSQL primary with a synchronous standby under load, again and again.
// TAKEBACK_TEST_RUNS is the number of rounds of each.
import { test } from 'bun:test'
import { failOver, type Loss } from '../failover.ts'

const ROUNDS = Number(process.env.TAKEBACK_TEST_RUNS ?? 6)

for (const loss of ['killed', 'cut off'] satisfies Loss[])
  test(`a primary that is ${loss}: 503 until the standby is promoted, and nothing acknowledged is lost`, async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      const took = await failOver(loss)
      console.log(`${loss}, round ${round}: back ${Math.round(took)} ms after the promotion`)
    }
  }, 600_000)
