import { useEffect, useState } from 'react'

/** A text once nobody has changed it for so long. */
export function useCalm(text: string, ms: number): string {
  const [calm, setCalm] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setCalm(text), ms)
    return () => clearTimeout(timer)
  }, [text, ms])
  return calm
}
