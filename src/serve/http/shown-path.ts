import { listEntities } from '../../api/read/list.ts'

/** Parameters whose values are never secret, even if they are misused. */
const SHOWN = new Set<string>([...listEntities.takes, 'restore', 'purge', 'since', 'entity', 'wait'])
/** Starts only at the beginning of a run of such characters, so that a long run without dots is scanned only once. */
const LOOKS_LIKE_TOKEN = /(?<![\w-])[\w-]{8,}(?:\.|%2e)[\w-]{8,}(?:\.|%2e)[\w-]*/gi
const LOOKS_LIKE_KEY = /tb_[0-9A-Za-z]{30,}/g

/**
 * The path as the log may show it, without tokens or passwords that were put into the query by mistake, whatever the
 * parameter was called.
 */
export function shownPath(path: string, query: string): string {
  const parameters = query === '' ? [] : [...new URLSearchParams(query)].filter(([name]) => name !== 'token')
  const shown = parameters.map(([name, value]) => `${name}=${SHOWN.has(name) ? value : '…'}`)
  const whole = shown.length === 0 ? path : `${path}?${shown.join('&')}`
  return whole.length < 24 ? whole : whole.replace(LOOKS_LIKE_TOKEN, '…').replace(LOOKS_LIKE_KEY, '…')
}
