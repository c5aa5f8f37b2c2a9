import { useSyncExternalStore } from 'react'
import { loadLanguage } from './texts/loaded.ts'

/** The user's settings for the console in this browser. */
export interface Settings {
  readonly theme: 'system' | 'light' | 'dark'
  readonly language: 'en' | 'de'
}

const NAME = 'takeback console'
const listeners = new Set<() => void>()

function read(): Settings {
  const browser = navigator.language.startsWith('de') ? 'de' : 'en'
  const defaults: Settings = { theme: 'system', language: browser }
  try {
    return { ...defaults, ...JSON.parse(localStorage.getItem(NAME) ?? '{}') }
  } catch {
    return defaults
  }
}

let settings = read()

export async function changeSettings(change: Partial<Settings>): Promise<void> {
  await loadLanguage(change.language ?? settings.language)
  settings = { ...settings, ...change }
  localStorage.setItem(NAME, JSON.stringify(settings))
  applyTheme()
  for (const listener of listeners) listener()
}

export function applyTheme(): void {
  const { theme, language } = settings
  document.documentElement.dataset.theme = theme
  document.documentElement.lang = language
}

export function currentSettings(): Settings {
  return settings
}

export function useSettings(): Settings {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, currentSettings)
}
