// bun build/bundle.js FOLDER: writes the command line and the database readers to that folder, each as one file with
// bytecode. They start in a third of the time. `bin/find-bundle.js` says when they are used.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digestOf, MADE_FROM } from '../bin/find-bundle.js'
import pkg from '../package.json'

const home = fileURLToPath(new URL('..', import.meta.url))
const folder = resolve(process.argv[2] ?? join(home, 'lib', 'bundle'))
// Paths in the bundle are relative to this folder.
process.chdir(home)

/** Nearly every server needs these packages. The others and the console are large, and are loaded when needed. */
const packages = ['@marcbachmann/cel-js', 'jose', 're2js']
const others = Object.keys(pkg.dependencies).filter((name) => !packages.includes(name))

const { metafile } = await Bun.build({
  entrypoints: ['src/cli/bundle.ts', 'src/store/sqlite/reader.ts'],
  outdir: folder,
  naming: '[name].[ext]',
  target: 'bun',
  // Bytecode requires it.
  format: 'cjs',
  bytecode: true,
  external: [...others.flatMap((name) => [name, `${name}/*`]), '*/console/dist/assets.js'],
  // Paths of the sources, which the bundle does not need (see `src/packaging.ts`).
  define: { 'import.meta.dir': '"."', 'import.meta.path': '"."' },
  metafile: true,
})

const files = Object.keys(metafile.inputs).filter((file) => !file.startsWith('node_modules/'))
writeFileSync(
  join(folder, MADE_FROM),
  JSON.stringify({ files, packages, digest: digestOf(home, files, packages) }),
)
