import { isIP } from 'node:net'

/** The site that passkeys are for, called the relying party in WebAuthn. */
export interface RelyingParty {
  /** The host to which browsers bind a passkey. */
  readonly id: string
  /** The origins whose pages may use passkeys. */
  readonly origins: readonly string[]
}

/** Reads the relying party from the configuration alone: no request can influence it. */
export function relyingPartyOf(address: string, origins: readonly string[]): RelyingParty {
  const id = hostNamed(address).hostname
  const own = origins.map(hostNamed).filter(({ hostname }) => hostname === id || hostname.endsWith(`.${id}`))
  return { id, origins: [...new Set(own.map(({ origin }) => origin))] }
}

/** Browsers make no passkeys for an IP address, but they do for `localhost`. */
function hostNamed(text: string): URL {
  const url = new URL(text)
  if (isIP(url.hostname) === 4 && url.hostname.startsWith('127.')) url.hostname = 'localhost'
  if (url.hostname === '[::1]') url.hostname = 'localhost'
  return url
}
