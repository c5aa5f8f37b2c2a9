import { join } from 'node:path'

/** A file of this folder as JavaScript that needs nothing. */
export async function bundled(file: string): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [join(import.meta.dir, file)], format: 'esm' })
  return (await outputs[0]?.text()) ?? ''
}
