// Whether what was built before is what a build would make again. npm builds more often than anything changes: for
// `npm install ../takeback`, for `npm pack`, and for the first `npx takeback` in a clone.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Beside what was built: what it was made from, and what was made. */
const MARK = '.made-from'

/** The sources, all that builds them, and the versions of all packages. */
const FOLDERS = ['bin', 'build', 'client', 'console', 'src', 'tanstack-db', 'testing']
const INSTALLED = 'node_modules/.package-lock.json'
const FILES = ['package.json', 'tsconfig.json', 'tsconfig.lib.json', INSTALLED]

/** Stands for all that a build in this folder depends on. Undefined if that is not known: npm did not install the packages. */
export function digestOfSources(root) {
  if (!existsSync(join(root, INSTALLED))) return undefined
  const sources = FOLDERS.flatMap((folder) => filesOf(root, folder)).filter(
    (file) => !file.startsWith(join('console', 'dist')),
  )
  return digestOf(root, [...sources, ...FILES.filter((file) => existsSync(join(root, file)))])
}

/** Whether this folder was built from these sources, and is as it was then. */
export function isUpToDate(folder, sources) {
  const mark = join(folder, MARK)
  return sources !== undefined && existsSync(mark) && readFileSync(mark, 'utf8') === markOf(folder, sources)
}

/** To be called when it was built, with what the sources were before. */
export function markAsBuilt(folder, sources) {
  if (sources !== undefined) writeFileSync(join(folder, MARK), markOf(folder, sources))
}

function markOf(folder, sources) {
  const built = filesOf(folder, '.').filter((file) => file !== MARK)
  return `${sources} ${digestOf(folder, built)}\n`
}

/** Of names and contents. Bytecode is for one platform only. */
function digestOf(root, files) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`)
  for (const file of files.sort()) {
    const content = readFileSync(join(root, file))
    hash.update(`${file} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

function filesOf(root, folder) {
  const at = join(root, folder)
  if (!existsSync(at)) return []
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ parentPath, path, name }) => join(folder, join(parentPath ?? path, name).slice(at.length + 1)))
}
