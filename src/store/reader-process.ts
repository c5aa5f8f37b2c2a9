/** A process that reads a database for a server, inside of the binary. */
export async function runReader(args: readonly string[]): Promise<void> {
  const { serveReader } = await import('./sqlite/reader.ts')
  await serveReader(args)
}
