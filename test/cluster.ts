import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Cluster {
  readonly url: string
  stop(): Promise<void>
}

/** Returns the PostgreSQL that the environment names, or starts one with these settings. It ends with this process. */
export async function startCluster(variable: string, settings: readonly string[]): Promise<Cluster> {
  const named = process.env[variable]
  if (named) return { url: named, stop: async () => {} }
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'postgres-cluster.ts'), ...settings], {
    // If this is root, PostgreSQL runs as another user, who must be able to enter the folder.
    cwd: tmpdir(),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    // Ctrl-C must only reach this process: PostgreSQL ends when its stdin does.
    detached: true,
  })
  child.unref()
  const { value } = await child.stdout.getReader().read()
  if (value === undefined)
    throw new Error(
      `no PostgreSQL could be started; ${variable}=postgres://… names one that runs: ${await child.stderr.text()}`,
    )
  return {
    url: new TextDecoder().decode(value).trim(),
    async stop() {
      await child.stdin.end()
      await child.exited
    },
  }
}
