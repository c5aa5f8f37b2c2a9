import { randomInt } from 'node:crypto'

/**
 * Returns a free port, below those that the system gives out by itself: so no socket of another test gets it before it
 * is used, or while a server restarts.
 */
export function freePort(): number {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {
      // The port is taken: tries another one.
    }
  }
}
