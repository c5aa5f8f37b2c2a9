/** Whether an `Accept` header admits `application/json` (RFC 9110, section 12.5.1): the most specific range decides. */
export function admitsJson(header: string | null): boolean {
  if (header === null) return false
  if (header === '*/*' || header === 'application/json') return true
  let best = -1
  let admitted = false
  for (const part of header.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
    const specific = ['*/*', 'application/*', 'application/json'].indexOf(range)
    if (specific < 0) continue
    const weight = parameters.find((one) => one.startsWith('q='))?.slice(2)
    const admits = weight === undefined || Number(weight) > 0
    if (specific > best || (specific === best && admits)) admitted = admits
    best = Math.max(best, specific)
  }
  return admitted
}

/** `application/json` with any parameters, in any case; a charset must be UTF-8, the only one that JSON has. */
export function isJson(header: string | null): boolean {
  if (header === 'application/json') return true
  const [type = '', ...parameters] = (header ?? '').split(';').map((one) => one.trim().toLowerCase())
  if (type !== 'application/json') return false
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice(8)
  return charset === undefined || ['utf-8', '"utf-8"', 'utf8'].includes(charset)
}
