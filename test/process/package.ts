import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pkg from '../../package.json'
import { commandLine, newFolder, root } from './process.ts'

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

/** How docs/instances.md packs it, from a folder beside it. */
export const PACK = 'npm pack --pack-destination . ../takeback'

/** The package as it would be published. Packed once for all processes of a run: it takes a core for eight seconds. */
export async function pack(): Promise<string> {
  const shared = join(process.env.TAKEBACK_TEST_FOLDER ?? newFolder(), 'packed')
  const packed = join(shared, `takeback-${pkg.version}.tgz`)
  for (;;) {
    if (existsSync(packed)) return packed
    if (isFirstAt(shared))
      try {
        renameSync(packBeside(), packed)
      } catch (error) {
        // The next one tries it again, and says what is wrong, too.
        rmSync(shared, { recursive: true })
        throw error
      }
    else await Bun.sleep(100)
  }
}

/** Makes a folder, unless another process has made it. */
function isFirstAt(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch {
    return false
  }
}

function packBeside(): string {
  const beside = newFolder()
  symlinkSync(root, join(beside, 'takeback'))
  mkdirSync(join(beside, 'shop'))
  must(join(beside, 'shop'), PACK)
  return join(beside, 'shop', readdirSync(join(beside, 'shop'))[0] ?? '')
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

/**
 * A PATH with an `npx` that takes an eighth of the time for `npx takeback`. All else goes to the one that comes with npm,
 * with which the README is typed in.
 */
export function quickNpx(): string {
  const folder = newFolder()
  const script = `#!/bin/sh
[ "$1" = takeback ] || exec "${Bun.which('npx')}" "$@"
shift
exec "${process.execPath}" "${commandLine}" "$@"
`
  writeFileSync(join(folder, 'npx'), script, { mode: 0o755 })
  return `${folder}:${process.env.PATH}`
}
