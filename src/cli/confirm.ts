import { createInterface } from 'node:readline/promises'
import { StartError } from '../errors.ts'

/**
 * Asks on a terminal. Without one, `--yes` must have been given. The end of the input (Ctrl-D) means no, and so does
 * `signal`, which cancels the question.
 */
export async function confirm(question: string, signal?: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError('There is no terminal to ask on: confirm with --yes.')
  if (signal?.aborted) return false
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const withdrawn = Promise.withResolvers<string>()
  const withdraw = () => withdrawn.resolve('\n')
  terminal.on('close', withdraw)
  signal?.addEventListener('abort', withdraw)
  // The terminal is read key by key, so Ctrl-C arrives as a key. It must still end the process.
  terminal.on('SIGINT', () => {
    terminal.close()
    process.kill(process.pid, 'SIGINT')
  })
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), withdrawn.promise])
    // The next output begins on a new line.
    if (answer === '\n') process.stdout.write(answer)
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    signal?.removeEventListener('abort', withdraw)
    terminal.close()
  }
}
