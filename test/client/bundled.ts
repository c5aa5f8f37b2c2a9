import { join } from 'node:path'

/** Bundles a file of this folder into JavaScript without imports. */
export async function bundled(file: string): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [join(import.meta.dir, file)], format: 'esm' })
  return (await outputs[0]?.text()) ?? ''
}
