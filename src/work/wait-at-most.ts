/** Waits for something to end, but no longer than this. No timer is left: it would keep a command from ending. */
export async function waitAtMost(ms: number, ending: Promise<unknown> | undefined): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, ms)
  try {
    await Promise.race([ending, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
