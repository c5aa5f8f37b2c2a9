/** Runs a process of the binary that reads a database for a server. */
export async function runReader(args: readonly string[]): Promise<void> {
  const { serveReader } = await import('./sqlite/reader.ts')
  await serveReader(args)
}
