import { useSettings } from '../settings.ts'
import type { Texts } from './en.ts'
import { messages } from './languages.ts'

export type { Texts }

/** The words of the console in the language of the person. */
export function useTexts(): Texts {
  return messages[useSettings().language]
}
