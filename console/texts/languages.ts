import { de } from './de.ts'
import { en } from './en.ts'

/** All texts, by language. */
export const messages = { en, de }
