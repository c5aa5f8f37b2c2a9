import { createInterface } from 'node:readline/promises'
import { StartError } from '../errors.ts'

/** Asks on a terminal; where nobody can answer, it must have been said beforehand. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError('Nobody can be asked here: say --yes if you mean it.')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
