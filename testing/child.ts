// The app for tests that do not run in Bun. It serves on a local port, and exits with the process that started it.
import { loadTested, MemoryEngine } from './engine.ts'
import type { EngineRequest, Reply, SentError } from './messages.ts'

let engine: MemoryEngine | undefined

function send(reply: Reply): void {
  process.send?.(reply)
}

function sentError(error: unknown): SentError {
  const { name = 'Error', message = String(error), stack = '' } = error as Partial<SentError>
  return { name, message, stack }
}

async function answer({ number, call, given }: EngineRequest): Promise<void> {
  try {
    const method = engine?.[call] as ((...given: unknown[]) => Promise<unknown>) | undefined
    send({ number, value: await method?.apply(engine, [...given]) })
  } catch (error) {
    send({ number, error: sentError(error) })
  }
}

process.on('disconnect', () => process.exit(0))
process.on('message', (question: EngineRequest) => void answer(question))
try {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => engine?.fetch(request) ?? new Response(null, { status: 503 }),
  })
  const url = `http://127.0.0.1:${server.port}`
  engine = await MemoryEngine.start(await loadTested(process.argv[2] ?? ''), url)
  send({ started: { url, systemToken: engine.systemToken } })
} catch (error) {
  send({ refused: sentError(error) })
}
