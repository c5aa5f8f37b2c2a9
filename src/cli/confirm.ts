import { createInterface } from 'node:readline/promises'
import { StartError } from '../errors.ts'

/** Asks on a terminal. Without one, `--yes` must have been given. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError('There is no terminal to ask on: confirm with --yes.')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
