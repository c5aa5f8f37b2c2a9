// Builds lib/: the JavaScript and the types behind `import … from 'takeback'`, `'takeback/client'`,
// `'takeback/tanstack-db'` and `'takeback/testing'` outside of Bun, and in lib/bundle/ the server as one file, which
// starts sooner. Does nothing if lib/ is up to date.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBun } from '../bin/find-bun.js'
import { digestOfSources, isUpToDate, markAsBuilt } from './up-to-date.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
const packs = ['pack', 'publish'].includes(process.env.npm_command ?? '')

if (existsSync(tsc)) {
  const sources = digestOfSources(root)
  if (isUpToDate(`${root}lib`, sources)) process.exit(0)
  // Built beside the old one, which another process may be reading.
  const fresh = `${root}lib.${process.pid}`
  const run = (...command) => spawnSync(command[0], command.slice(1), { cwd: root, stdio: 'inherit' }).status
  const bun = findBun()
  const isBuilt =
    run(process.execPath, tsc, '-p', 'tsconfig.lib.json', '--outDir', fresh) === 0 &&
    // Without Bun, nothing could run the bundle.
    (bun === undefined ? !packs : run(bun, join('build', 'bundle.js'), join(fresh, 'bundle')) === 0)
  if (isBuilt) {
    markAsBuilt(fresh, sources)
    replace(`${root}lib`, fresh)
  }
  rmSync(fresh, { recursive: true, force: true })
  process.exit(isBuilt ? 0 : 1)
}

// A server runs without lib/, but a package must not be published without its types.
console.error(
  `lib/ cannot be built: TypeScript is not installed in ${root}. Run "npm install" there, without --omit=dev.`,
)
process.exit(packs ? 1 : 0)

/** Replaces only the files that differ: another process may be reading the others. */
function replace(old, fresh) {
  const files = filesOf(fresh)
  for (const file of filesOf(old)) if (!files.includes(file)) rmSync(join(old, file), { force: true })
  for (const file of files) {
    const target = join(old, file)
    if (existsSync(target) && readFileSync(target).equals(readFileSync(join(fresh, file)))) continue
    mkdirSync(dirname(target), { recursive: true })
    renameSync(join(fresh, file), target)
  }
}

function filesOf(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ parentPath, path, name }) => join(parentPath ?? path, name).slice(folder.length + 1))
}
