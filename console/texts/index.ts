import { createContext, useContext } from 'react'
import type { Texts } from './en.ts'

export type { Texts }

const Words = createContext<Texts | undefined>(undefined)
/** Around the whole console. */
export const TextsProvider = Words.Provider

/** Returns the texts of the console in the user's language. */
export function useTexts(): Texts {
  const texts = useContext(Words)
  if (texts === undefined) throw new Error('There is no <TextsProvider> around this.')
  return texts
}
