import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file beside a bundle that says what the bundle was made from. */
export const MADE_FROM = 'made-from.json'

/**
 * Returns the bundle in `lib/`, which starts in a third of the time. Undefined unless it was made from exactly the
 * sources and packages that are here: whoever changes a file runs the changed file.
 */
export function findBundle(home) {
  const folder = join(home, 'lib', 'bundle')
  try {
    const { files, packages, digest } = JSON.parse(readFileSync(join(folder, MADE_FROM), 'utf8'))
    return digestOf(home, files, packages) === digest ? join(folder, 'bundle.js') : undefined
  } catch {
    return undefined
  }
}

/** Returns a digest of files, by their contents, and of packages, by their `package.json`. */
export function digestOf(home, files, packages) {
  const all = [
    ...files.map((file) => join(home, file)),
    ...packages.map((name) => Bun.resolveSync(`${name}/package.json`, home)),
  ]
  return all.reduce((digest, file) => Bun.hash(readFileSync(file), digest), 0n).toString(16)
}
