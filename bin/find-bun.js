import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/** Finds the Bun binary: where its install script puts it, or in the platform's package, if npm did not run that. */
export function findBun() {
  const folder = folderOf('bun')
  if (folder === undefined) return undefined
  const platforms = Object.keys(require('bun/package.json').optionalDependencies ?? {})
  const shipped = platforms.flatMap((name) => [
    join(folder, '..', name, 'bin', 'bun'),
    join(folder, '..', name, 'bin', 'bun.exe'),
  ])
  const isBinary = (file) => existsSync(file) && statSync(file).size > 1_000_000
  return [join(folder, 'bin', 'bun.exe'), join(folder, 'bin', 'bun'), ...shipped].find(isBinary)
}

function folderOf(name) {
  try {
    return dirname(require.resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}
