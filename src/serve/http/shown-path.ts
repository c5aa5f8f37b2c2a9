import { listEntities } from '../../api/read/list.ts'

/** Parameters whose values are no secret, however they are misused. */
const SHOWN = new Set<string>([...listEntities.takes, 'restore', 'purge', 'since', 'entity', 'wait'])
/** Starts only where a run of such characters does: a long one without dots is looked at once, not from each of its places. */
const LOOKS_LIKE_TOKEN = /(?<![\w-])[\w-]{8,}(?:\.|%2e)[\w-]{8,}(?:\.|%2e)[\w-]*/gi
const LOOKS_LIKE_KEY = /tb_[0-9A-Za-z]{30,}/g

/**
 * A path as the log may show it. A token, or a password that was put into the query by mistake, is not in it, whatever
 * the parameter was called.
 */
export function shownPath(path: string, query: string): string {
  const parameters = query === '' ? [] : [...new URLSearchParams(query)].filter(([name]) => name !== 'token')
  const shown = parameters.map(([name, value]) => `${name}=${SHOWN.has(name) ? value : '…'}`)
  const whole = shown.length === 0 ? path : `${path}?${shown.join('&')}`
  return whole.length < 24 ? whole : whole.replace(LOOKS_LIKE_TOKEN, '…').replace(LOOKS_LIKE_KEY, '…')
}
