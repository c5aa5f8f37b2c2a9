// Tells whether a build would make the same files again. npm builds more often than anything changes: for `npm install
// ../takeback`, for `npm pack`, and for the first `npx takeback` in a clone.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file in a built folder that has digests of its sources and of its files. */
const MARK = '.made-from'

/** The sources, the files that build them, and the versions of all packages. */
const FOLDERS = ['bin', 'build', 'client', 'console', 'src', 'tanstack-db', 'testing']
const INSTALLED = 'node_modules/.package-lock.json'
const FILES = ['package.json', 'tsconfig.json', 'tsconfig.lib.json', INSTALLED]

/** Returns a digest of all that a build depends on; undefined if npm did not install the packages. */
export function digestOfSources(root) {
  if (!existsSync(join(root, INSTALLED))) return undefined
  const sources = FOLDERS.flatMap((folder) => filesOf(root, folder)).filter(
    (file) => !file.startsWith(join('console', 'dist')),
  )
  return digestOf(root, [...sources, ...FILES.filter((file) => existsSync(join(root, file)))])
}

/** Whether a folder was built from these sources, and is unchanged since. */
export function isUpToDate(folder, sources) {
  const mark = join(folder, MARK)
  return sources !== undefined && existsSync(mark) && readFileSync(mark, 'utf8') === markOf(folder, sources)
}

/** Marks a folder as built. `sources` is their digest from before the build. */
export function markAsBuilt(folder, sources) {
  if (sources !== undefined) writeFileSync(join(folder, MARK), markOf(folder, sources))
}

function markOf(folder, sources) {
  const built = filesOf(folder, '.').filter((file) => file !== MARK)
  return `${sources} ${digestOf(folder, built)}\n`
}

/** Returns a digest of names and contents, and of the platform, since bytecode is for one platform only. */
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
