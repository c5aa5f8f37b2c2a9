import { expect, test } from 'bun:test'
import { failOver } from '../failover.ts'

test('a standby takes over from a primary that was killed: 503 meanwhile, nothing acknowledged is lost', async () => {
  expect(await failOver('killed')).toBeGreaterThan(0)
})
