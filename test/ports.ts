import { randomInt } from 'node:crypto'

/**
 * A port that nobody listens on. It is below those that the system itself gives to whoever asks for any, so that none of
 * the many sockets of other tests gets it before it is used, or while a server starts anew.
 */
export function freePort(): number {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {
      // Somebody has it: another one.
    }
  }
}
