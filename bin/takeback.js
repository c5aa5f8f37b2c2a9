#!/usr/bin/env node
// Takeback runs on Bun, which npm installs beside it. Under Node, this file finds that Bun and hands over to it.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBun } from './find-bun.js'
import { findBundle } from './find-bundle.js'

const own = fileURLToPath(import.meta.url)
const home = dirname(dirname(own))
if (process.versions.bun === undefined) handOver()
else {
  const file = findBundle(home) ?? join(home, 'src', 'cli', 'main.ts')
  // As if Bun had been started with this file.
  process.argv[1] = file
  await import(file)
}

function handOver() {
  const bun = findBun()
  if (bun === undefined) {
    // npm only links a dependency that is a folder, and installs nothing in it.
    console.error(
      `The packages that Takeback needs are not installed in ${home}. Run this once, then try again: npm install --prefix "${home}"`,
    )
    process.exit(1)
  }
  const args = [own, ...process.argv.slice(2)]
  if (typeof process.execve === 'function' && process.platform !== 'win32')
    process.execve(bun, ['bun', ...args], process.env)

  const child = spawn(bun, args, { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}
