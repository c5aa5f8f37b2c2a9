import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Cluster {
  readonly url: string
  stop(): Promise<void>
}

/** The PostgreSQL that the environment names, or else one of our own with these settings, gone when we are, however we go. */
export async function startCluster(variable: string, settings: readonly string[]): Promise<Cluster> {
  const named = process.env[variable]
  if (named) return { url: named, stop: async () => {} }
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'postgres-cluster.ts'), ...settings], {
    // As root it is another user that must be able to be here.
    cwd: tmpdir(),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    // Ctrl-C is for us: it has its own way to notice that we are gone.
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
