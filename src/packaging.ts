import { dirname, join } from 'node:path'

/**
 * How this Takeback is packaged: as sources, as a bundle (one file each for the command line and for readers, see
 * `build/bundle.js`), or as a binary, which contains its runtime and starts itself where others start Bun with a file.
 */
type Packaging =
  | { readonly kind: 'sources' }
  | { readonly kind: 'bundle'; readonly file: string }
  | { readonly kind: 'binary' }

let packaging: Packaging = { kind: 'sources' }

/** Called first by the entry of the binary. */
export function runAsBinary(): void {
  packaging = { kind: 'binary' }
}

/** Called first by the entry of the bundle, which is `file`. */
export function runAsBundle(file: string): void {
  packaging = { kind: 'bundle', file }
}

export function isBinary(): boolean {
  return packaging.kind === 'binary'
}

/** Returns the command that starts the command line again. `source`: the file to start if the sources run. */
export function commandOf(source: string): string[] {
  if (packaging.kind === 'binary') return [process.execPath]
  return [process.execPath, packaging.kind === 'bundle' ? packaging.file : source]
}

/** Returns the folder of the package. `source`: that folder if the sources run. */
export function homeOf(source: string): string {
  return packaging.kind === 'bundle' ? join(dirname(packaging.file), '..', '..') : source
}

const READER = '--reader'

interface ReaderStart {
  readonly command: string[]
  /** A folder in which Bun finds no settings or variables of the user. */
  readonly cwd: string
}

/** Returns how to start a process that reads the database for a server. `source`: its file if the sources run. */
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
