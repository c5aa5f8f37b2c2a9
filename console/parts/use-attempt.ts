import { useState } from 'react'
import { explain } from '../explain.ts'
import { useTexts } from '../texts/index.ts'

interface Attempting {
  /** Runs a function, and stores its error. */
  attempt(run: () => Promise<unknown>): void
  /** The error, in words. */
  readonly failure: string | undefined
}

/** For buttons outside of forms: shows why a call failed. */
export function useAttempt(): Attempting {
  const texts = useTexts()
  const [failure, setFailure] = useState<string>()
  const attempt = (run: () => Promise<unknown>) => {
    setFailure(undefined)
    void run().catch((error) => setFailure(explain(error, texts)))
  }
  return { attempt, failure }
}
