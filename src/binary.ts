let running = false

/**
 * The binary is one file with its runtime: it starts itself where others start Bun with a file. It calls this before
 * anything else.
 */
export function runAsBinary(): void {
  running = true
}

export function isBinary(): boolean {
  return running
}
