import { useSettings } from '../settings.ts'
import type { Texts } from './en.ts'
import { textsIn } from './loaded.ts'

export type { Texts }

/** The words of the console in the language of the person. */
export function useTexts(): Texts {
  return textsIn(useSettings().language)
}
