#!/usr/bin/env node
// Takeback runs on Bun, which npm installs beside it. This finds that Bun and hands over to it.
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const require = createRequire(import.meta.url)

/** The binary is where Bun's install script has put it, or, where npm was not let run that, still in the package of its platform. */
function findBun() {
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

const bun = findBun()
if (bun === undefined) {
  // A folder that is a dependency is only linked: npm installs nothing in it.
  const home = dirname(dirname(fileURLToPath(import.meta.url)))
  console.error(
    `The packages that Takeback needs are not installed in ${home}. Run this once, then try again: npm install --prefix "${home}"`,
  )
  process.exit(1)
}

const args = [main, ...process.argv.slice(2)]
if (typeof process.execve === 'function' && process.platform !== 'win32')
  process.execve(bun, ['bun', ...args], process.env)

const child = spawn(bun, args, { stdio: 'inherit' })
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
