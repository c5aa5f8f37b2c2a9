import { dirname, join } from 'node:path'

/**
 * How this Takeback is packed: not at all, as a bundle (one file each for the command line and for readers, see
 * `build/bundle.js`), or as a binary, which has its runtime in it and starts itself where others start Bun with a file.
 */
type Packaging =
  | { readonly kind: 'sources' }
  | { readonly kind: 'bundle'; readonly file: string }
  | { readonly kind: 'binary' }

let packaging: Packaging = { kind: 'sources' }

/** The entry of the binary calls this before anything else. */
export function runAsBinary(): void {
  packaging = { kind: 'binary' }
}

/** The entry of the bundle, which is this file, calls this before anything else. */
export function runAsBundle(file: string): void {
  packaging = { kind: 'bundle', file }
}

export function isBinary(): boolean {
  return packaging.kind === 'binary'
}

/** How the command line starts itself. `source`: the file to start where nothing is packed. */
export function commandOf(source: string): string[] {
  if (packaging.kind === 'binary') return [process.execPath]
  return [process.execPath, packaging.kind === 'bundle' ? packaging.file : source]
}

/** The folder of the package. `source`: the same, where nothing is packed. */
export function homeOf(source: string): string {
  return packaging.kind === 'bundle' ? join(dirname(packaging.file), '..', '..') : source
}

const READER = '--reader'

interface ReaderStart {
  readonly command: string[]
  /** A folder where neither settings nor variables of the user are found. */
  readonly cwd: string
}

/** How a process that reads a database for a server is started. `source`: the file to start where nothing is packed. */
export function readerStart(source: string): ReaderStart {
  if (packaging.kind === 'binary')
    return { command: [process.execPath, READER], cwd: dirname(process.execPath) }
  const file = packaging.kind === 'bundle' ? join(dirname(packaging.file), 'reader.js') : source
  return { command: [process.execPath, file], cwd: dirname(file) }
}

/** Whether the binary was started as a reader. */
export function isReader([first]: readonly string[]): boolean {
  return first === READER
}
