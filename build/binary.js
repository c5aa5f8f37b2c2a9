// Builds dist/takeback: Takeback and its runtime in one file. `npm run binary -- linux-arm64 windows-x64` builds it for
// other systems (it downloads their runtime), `npm run binary -- all` for all of them.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBun } from '../bin/find-bun.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const systems = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'windows-x64']
const asked = process.argv.slice(2)
const wanted = asked.includes('all') ? systems : asked
const unknown = wanted.filter((one) => !systems.includes(one))
if (unknown.length > 0) {
  console.error(`There is no system ${unknown.join(', ')}: there are ${systems.join(', ')}, and all.`)
  process.exit(1)
}

mkdirSync(join(root, 'dist'), { recursive: true })
for (const system of wanted.length > 0 ? wanted : [undefined]) {
  const file = join(root, 'dist', system === undefined ? 'takeback' : `takeback-${system}`)
  const target = system === undefined ? [] : [`--target=bun-${system}`]
  // A config may import packages: their package.json says which file to load.
  const compile = ['build', '--compile', '--compile-autoload-package-json', '--bytecode', '--format=cjs']
  const entry = join('src', 'cli', 'binary.ts')
  const { status } = spawnSync(findBun(), [...compile, ...target, entry, '--outfile', file], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}
