import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a bundle was made from is written here, beside it. */
export const MADE_FROM = 'made-from.json'

/**
 * The bundle in `lib/`, which starts in a third of the time. Undefined unless it was made from the very sources and
 * packages that are here: whoever changes a file runs what they have changed.
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

/** Of files, by their paths in this folder, and of packages, by their versions. */
export function digestOf(home, files, packages) {
  const all = [
    ...files.map((file) => join(home, file)),
    ...packages.map((name) => Bun.resolveSync(`${name}/package.json`, home)),
  ]
  return all.reduce((digest, file) => Bun.hash(readFileSync(file), digest), 0n).toString(16)
}
