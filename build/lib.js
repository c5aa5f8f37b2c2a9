// Builds lib/: the JavaScript and the types behind `import … from 'takeback'`, `'takeback/client'` and `'takeback/testing'` outside of Bun.
import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
const packs = ['pack', 'publish'].includes(process.env.npm_command ?? '')

if (existsSync(tsc)) {
  // Beside the old one first: somebody may be reading that.
  const fresh = `${root}lib.${process.pid}`
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.lib.json', '--outDir', fresh], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status === 0) {
    try {
      rmSync(`${root}lib`, { recursive: true, force: true })
      renameSync(fresh, `${root}lib`)
    } catch {
      // Another build has put the same there meanwhile.
      rmSync(fresh, { recursive: true, force: true })
    }
  }
  process.exit(status ?? 1)
}

// Without TypeScript a server runs all the same; a package without its types must not leave the house.
console.error(
  `lib/ cannot be built: TypeScript is not installed in ${root}. Run "npm install" there, without --omit=dev.`,
)
process.exit(packs ? 1 : 0)
