import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pkg from '../../package.json'
import { newFolder, root } from './process.ts'

/** Whether tests may ask the npm registry. */
export const network = process.env.TAKEBACK_TEST_NETWORK === '1'

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export function sh(cwd: string, script: string, env: Record<string, string> = {}): Ended {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['sh', '-c', script], {
    cwd,
    env: { ...process.env, ...env },
  })
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() }
}

/** Runs to a good end, and gives what it said. */
export function must(cwd: string, script: string, env: Record<string, string> = {}): string {
  const { code, out, err } = sh(cwd, script, env)
  if (code !== 0) throw new Error(`${script}\n${out}${err}`)
  return out
}

/** The package as it would be published. */
export function pack(): string {
  const folder = newFolder()
  must(root, `npm pack --silent --pack-destination "${folder}"`)
  return join(folder, readdirSync(folder)[0] ?? '')
}

/** The package as npm unpacks it, with or without the packages that it needs beside it. */
export function unpack(tarball: string, folder: string, { complete }: { complete: boolean }): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, 'takeback'), { recursive: true })
  must(folder, `tar -xzf "${tarball}" -C node_modules/takeback --strip-components 1`)
  if (!complete) return
  for (const name of [...Object.keys(pkg.dependencies), '@oven']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  linkCommand(folder)
}

/** What \`npx takeback\` finds. */
export function linkCommand(folder: string): void {
  mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true })
  symlinkSync(join('..', 'takeback', 'bin', 'takeback.js'), join(folder, 'node_modules', '.bin', 'takeback'))
}
