import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { homeOf, isBinary } from '../../packaging.ts'

/** A file of the console, compressed and in base64. */
export interface Asset {
  readonly type: string
  readonly etag: string
  readonly gzip: string
  readonly brotli: string
}

export type Assets = Readonly<Record<string, Asset>>

let loaded: Promise<Assets> | undefined

/** Loads all files of the console on first use. */
export function loadAssets(): Promise<Assets> {
  loaded ??= load().catch((error) => {
    loaded = undefined
    throw error
  })
  return loaded
}

async function load(): Promise<Assets> {
  const root = homeOf(join(import.meta.dir, '../../..'))
  await rebuildIfStale(root)
  // The binary contains the files.
  const { assets } = await (isBinary()
    ? import('../../../console/dist/assets.js')
    : import(join(root, 'console/dist/assets.js')))
  return assets
}

/** In a checkout the sources may be newer than the built files. A package has no sources. */
async function rebuildIfStale(root: string): Promise<void> {
  const [script, made] = [join(root, 'build/console.ts'), join(root, 'console/dist/assets.js')]
  if (!existsSync(script) || !existsSync(join(root, 'console/main.tsx'))) return
  if (existsSync(made) && statSync(made).mtimeMs >= newestSource(root)) return
  const build = Bun.spawn([process.execPath, script], {
    cwd: root,
    stdout: 'ignore',
    stderr: 'pipe',
    env: { ...process.env, BUN_BE_BUN: '1' },
  })
  if ((await build.exited) !== 0)
    throw new Error(`The console cannot be built: ${await new Response(build.stderr).text()}`)
}

function newestSource(root: string): number {
  const folders = ['console', 'client'].map((name) => join(root, name))
  const times = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && !one.parentPath.includes('dist'))
      .map((one) => statSync(join(one.parentPath, one.name)).mtimeMs),
  )
  return Math.max(...times)
}
