/** Parameters whose values are no secret, however they are misused. */
const SHOWN = new Set(['limit', 'cursor', 'sort', 'count', 'fields', 'trashed', 'restore', 'purge'])
const LOOKS_LIKE_TOKEN = /[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g

/**
 * A path as the log may show it. A token, or a password that was put into the query by mistake, is not in it, whatever
 * the parameter was called.
 */
export function shownPath(path: string, query: string): string {
  const parameters = query === '' ? [] : [...new URLSearchParams(query)].filter(([name]) => name !== 'token')
  const shown = parameters.map(([name, value]) => `${name}=${SHOWN.has(name) ? value : '…'}`)
  const whole = shown.length === 0 ? path : `${path}?${shown.join('&')}`
  return whole.length < 24 ? whole : whole.replace(LOOKS_LIKE_TOKEN, '…')
}
