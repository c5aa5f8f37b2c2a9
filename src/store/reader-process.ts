import { isBinary } from '../binary.ts'

const READER = '--reader'

/** The command of a process that reads a database for a server. `file`: where its code is, outside of the binary. */
export function readerCommand(file: string, args: readonly string[]): string[] {
  return [process.execPath, isBinary() ? READER : file, ...args]
}

/** Whether the binary was started as one. */
export function isReader([first]: readonly string[]): boolean {
  return first === READER
}

export async function runReader([, ...args]: readonly string[]): Promise<void> {
  const { serveReader } = await import('./sqlite/reader.ts')
  await serveReader(args)
}
