import { writeSync } from 'node:fs'
import { format } from 'node:util'

const STANDARD_OUTPUT = 1
const AGAIN_MS = 10

/**
 * Makes `console.log` notice what cannot be written, which Bun drops without an error: a file with half of the output
 * must not look like a success. Returns what to call at the end, which tells the reason.
 */
export function watchOutput(): () => string | undefined {
  let failure: { readonly code?: string; readonly message: string } | undefined
  console.log = (...said: unknown[]) => {
    try {
      if (failure === undefined) writeWhole(`${format(...said)}\n`)
    } catch (error) {
      failure = error as Error
    }
  }
  // A reader that has ended, as in "| head", has read all that it wanted.
  return () => (failure?.code === 'EPIPE' ? undefined : failure?.message)
}

function writeWhole(text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(STANDARD_OUTPUT, bytes, at)
    } catch (error) {
      if ((error as { code?: string }).code !== 'EAGAIN') throw error
      Bun.sleepSync(AGAIN_MS)
    }
}
