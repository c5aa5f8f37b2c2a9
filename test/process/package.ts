import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pkg from '../../package.json'
import { commandLine, newFolder, root } from './process.ts'

/** Whether tests may use the npm registry. */
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

/** Runs a script, which must succeed, and returns its output. */
export function must(cwd: string, script: string, env: Record<string, string> = {}): string {
  const { code, out, err } = sh(cwd, script, env)
  if (code !== 0) throw new Error(`${script}\n${out}${err}`)
  return out
}

/** The command with which docs/instances.md packs it, from a folder beside it. */
export const PACK = 'npm pack --pack-destination . ../takeback'

/** Packs the package as it would be published, once for all processes: it takes eight seconds of processor time. */
export async function pack(): Promise<string> {
  const shared = join(process.env.TAKEBACK_TEST_FOLDER ?? newFolder(), 'packed')
  const packed = join(shared, `takeback-${pkg.version}.tgz`)
  for (;;) {
    if (existsSync(packed)) return packed
    if (isFirstAt(shared))
      try {
        renameSync(packBeside(), packed)
      } catch (error) {
        // The next process tries again, and reports the error, too.
        rmSync(shared, { recursive: true })
        throw error
      }
    else await Bun.sleep(100)
  }
}

/** Makes a folder. Returns false if another process has made it already. */
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

/** Unpacks the package as npm does, with or without the packages that it needs. */
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

/** Links the command that `npx takeback` runs. */
export function linkCommand(folder: string): void {
  mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true })
  symlinkSync(join('..', 'takeback', 'bin', 'takeback.js'), join(folder, 'node_modules', '.bin', 'takeback'))
}

/**
 * Returns a PATH with an `npx` that takes an eighth of the time for `npx takeback`. It passes everything else to npm's
 * own, with which the README is typed.
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
