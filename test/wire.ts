import { createServer, connect as dial, type Socket } from 'node:net'

/** A connection to a server that can be cut, or fall silent, without a real network. */
export class Wire {
  readonly #sockets = new Set<Socket>()
  #silent = false
  #cut = false
  readonly #server
  readonly #target: { readonly host: string; readonly port: number }

  constructor(host: string, port: number) {
    this.#target = { host, port }
    this.#server = createServer((near) => this.#join(near))
  }

  async listen(): Promise<number> {
    await new Promise<void>((ready) => this.#server.listen(0, '127.0.0.1', ready))
    return (this.#server.address() as { port: number }).port
  }

  #join(near: Socket): void {
    if (this.#cut) return void near.destroy()
    const far = dial(this.#target)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (chunk) => to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
    if (this.#silent) {
      near.pause()
      far.pause()
    }
  }

  /** Ends all connections, and all new ones. */
  cut(): void {
    this.#cut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Lets nothing through any more, without telling anybody. */
  silence(): void {
    this.#silent = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** For new connections: one that has fallen silent never recovers. */
  heal(): void {
    this.#cut = false
    this.#silent = false
  }

  close(): void {
    this.cut()
    this.#server.close()
  }
}
