// A process that reads for the server, so that nobody else has to wait: bun reader.ts <database> <server's process>.
// Started by readers.ts. It runs one statement at a time, and ends when the server does.
import { Database } from 'bun:sqlite'
import { setPriority } from 'node:os'
import { isBinary } from '../../packaging.ts'
import type { Bound } from '../dialect.ts'
import { defineFunctions } from './functions.ts'
import { readingPragmas } from './pragmas.ts'

export interface ReaderRequest {
  readonly text: string
  readonly values: readonly Bound[]
}

/** Rows and the time they took, or an error. */
export type ReaderAnswer =
  | { readonly rows: readonly (readonly Bound[])[]; readonly ms: number }
  | { readonly code: string; readonly message: string }

/** Gives the server precedence if there are too few cores for both. */
const PRIORITY = 10
const PREPARED_MAX = 200

type PreparedRead = (values: readonly Bound[]) => ReaderAnswer

function openReader(path: string): (request: ReaderRequest) => Promise<ReaderAnswer> {
  const database = new Database(path, { readonly: true, strict: true })
  for (const pragma of readingPragmas) database.run(`PRAGMA ${pragma}`)
  defineFunctions(database)
  let beginMatching: (() => void) | undefined
  const prepared = new Map<string, PreparedRead>()

  /** Loads patterns on first use: they take long to load, and few statements need them. */
  async function loadPatterns(): Promise<void> {
    const patterns = await import('./matches.ts')
    database.function('takeback_matches', { deterministic: true, directOnly: true }, patterns.matches)
    beginMatching = patterns.beginMatching
  }

  function prepare(text: string): PreparedRead {
    const statement = database.prepare(text)
    return (values) => {
      const start = performance.now()
      beginMatching?.()
      const rows = statement.values(...values) as Bound[][]
      return { rows, ms: performance.now() - start }
    }
  }

  return async ({ text, values }) => {
    if (beginMatching === undefined && text.includes('takeback_matches')) await loadPatterns()
    if (prepared.size >= PREPARED_MAX) prepared.clear()
    const query = prepared.get(text) ?? prepare(text)
    prepared.set(text, query)
    return query(values)
  }
}

function tellWhy(error: unknown): ReaderAnswer {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return { code: String(code ?? ''), message: String(message ?? error) }
}

/**
 * Ends this process with the server. A running statement does not notice that the channel to the server is gone. On
 * Linux, the system then ends the process. Elsewhere it ends after the statement.
 */
async function endWith(server: number): Promise<void> {
  process.on('disconnect', () => process.exit(0))
  // A signal may go to all processes of the server. The server still wants answers to what it has begun.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  if (process.platform !== 'linux') return
  try {
    const { dlopen } = await import('bun:ffi')
    const { symbols } = dlopen('libc.so.6', {
      prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
    })
    symbols.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
  } catch {
    // This system does not have that library: see above.
  }
  if (process.ppid !== server) process.exit(0)
}

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9

/** Reads for the server that has started this process. */
export async function serveReader([path = '', server = '']: readonly string[]): Promise<void> {
  try {
    setPriority(PRIORITY)
  } catch {
    // Ignored if it is not permitted.
  }
  await endWith(Number(server))
  const read = openReader(path)
  process.on('message', async (request: ReaderRequest) => {
    process.send?.(await read(request).catch(tellWhy))
  })
}

if (import.meta.main && !isBinary()) void serveReader(process.argv.slice(2))
