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
  const folder = dirname(require.resolve('bun/package.json'))
  const platforms = Object.keys(require('bun/package.json').optionalDependencies ?? {})
  const shipped = platforms.flatMap((name) => [
    join(folder, '..', name, 'bin', 'bun'),
    join(folder, '..', name, 'bin', 'bun.exe'),
  ])
  const isBinary = (file) => existsSync(file) && statSync(file).size > 1_000_000
  return [join(folder, 'bin', 'bun.exe'), join(folder, 'bin', 'bun'), ...shipped].find(isBinary)
}

const bun = findBun()
if (bun === undefined) {
  console.error('Takeback needs the npm package bun, and its binary is not there: run "npm install" again.')
  process.exit(1)
}

const args = [main, ...process.argv.slice(2)]
if (typeof process.execve === 'function' && process.platform !== 'win32')
  process.execve(bun, ['bun', ...args], process.env)

const child = spawn(bun, args, { stdio: 'inherit' })
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
