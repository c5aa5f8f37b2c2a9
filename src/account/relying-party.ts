import { isIP } from 'node:net'

/** Whom passkeys are for: WebAuthn calls it the relying party. */
export interface RelyingParty {
  /** The host to which browsers bind a passkey. */
  readonly id: string
  /** The origins whose pages may use it. */
  readonly origins: readonly string[]
}

/** From the configuration alone: nothing that a request says has any part in it. */
export function relyingPartyOf(address: string, origins: readonly string[]): RelyingParty {
  const id = hostNamed(address).hostname
  const own = origins.map(hostNamed).filter(({ hostname }) => hostname === id || hostname.endsWith(`.${id}`))
  return { id, origins: [...new Set(own.map(({ origin }) => origin))] }
}

/** Browsers make no passkeys for the number of an address, but for `localhost` they do. */
function hostNamed(text: string): URL {
  const url = new URL(text)
  if (isIP(url.hostname) === 4 && url.hostname.startsWith('127.')) url.hostname = 'localhost'
  if (url.hostname === '[::1]') url.hostname = 'localhost'
  return url
}
