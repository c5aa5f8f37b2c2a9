import { drive } from './generator.ts'
import type { Options } from './options.ts'
import type { Server } from './processes.ts'
import { bookingOf } from './rates.ts'
import { logIn } from './setup.ts'
import { median } from './table.ts'

const CONNECTIONS = 64

const calls = Array.from({ length: 200 }, (_, at) => ({
  method: 'POST',
  path: '/api/bookings/',
  body: bookingOf(at),
}))

/** Returns the creates per second of each server, measured in turns. */
export async function createRates(
  servers: readonly Server[],
  { rounds, seconds }: Options,
): Promise<readonly number[]> {
  const subjects = await Promise.all(
    servers.map(async (server) => ({ server, token: await logIn(server), rates: [] as number[] })),
  )
  for (let round = 0; round <= rounds; round++)
    for (const { server, token, rates } of subjects) {
      const done = await drive(server, token, { calls, connections: CONNECTIONS }, seconds)
      server.cutLog()
      // The first round only warms up.
      if (round > 0) rates.push(done.requests / done.seconds)
    }
  return subjects.map(({ rates }) => median(rates))
}
