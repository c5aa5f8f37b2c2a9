import { en, type Texts } from './en.ts'

/** English is always loaded; other languages when they are chosen. */
const loaded: { en: Texts; de?: Texts } = { en }

export async function loadLanguage(language: 'en' | 'de'): Promise<void> {
  if (language === 'de') loaded.de ??= (await import('./de.ts')).de
}

export function textsIn(language: 'en' | 'de'): Texts {
  return loaded[language] ?? en
}
