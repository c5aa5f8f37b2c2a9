#!/usr/bin/env node
// Takeback runs on Bun, which npm installs beside it. This finds that Bun and hands over to it.
import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBun } from './find-bun.js'

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
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
