/** Headers by which proxies say whom they speak for. */
const FORWARDED = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
]

const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?$/i

/**
 * Whether a request from this machine was sent by a program here, or by a page that this server itself has sent to a
 * browser here: not by a proxy, not by a page of another site, and not under a name that leads here by a trick.
 */
export function isDirect(headers: Headers): boolean {
  const host = headers.get('host') ?? ''
  if (!LOOPBACK.test(host) || FORWARDED.some((name) => headers.has(name))) return false
  // A proxy that is not configured at all still says this.
  if (headers.get('connection')?.toLowerCase() === 'close') return false
  const origin = headers.get('origin')
  if (origin !== null && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return false
  return ['same-origin', 'none', null].includes(headers.get('sec-fetch-site'))
}
