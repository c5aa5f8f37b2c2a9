import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { NewPasskey, Passkey } from './passkeys.ts'
import type { RelyingParty } from './relying-party.ts'

/** EdDSA, ES256 and RS256 (RFC 9053): every authenticator has one of them. */
export const ALGORITHMS = [-8, -7, -257]

/** A credential from a browser, as its `toJSON` gives it. The package checks the other keys. */
export interface SentCredential {
  readonly id: string
  readonly response: { readonly clientDataJSON: string }
}

/** What a credential must match. */
export interface Expected {
  readonly party: RelyingParty
  isChallenge(challenge: string): boolean
}

/**
 * Verifies a new passkey, and returns it with the challenge that it signed; undefined if anything is wrong. Errors of
 * the package are not passed on: their texts contain challenges.
 */
export async function verifyNewPasskey(
  sent: SentCredential,
  expected: Expected,
): Promise<{ challenge: string; passkey: Omit<NewPasskey, 'name'> } | undefined> {
  const { verifyRegistrationResponse } = await loadLibrary()
  const { challenge, options } = optionsOf(expected)
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      ...options,
      response: sent as RegistrationResponseJSON,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (registrationInfo === undefined) return undefined
    const { id, publicKey, counter } = registrationInfo.credential
    const key = Buffer.from(publicKey).toString('base64url')
    return { challenge: challenge(), passkey: { credential: id, publicKey: key, counter } }
  } catch {
    return undefined
  }
}

/** Verifies a signature. Returns the passkey's next counter, which must not go back, and the challenge. */
export async function verifyPasskey(
  sent: SentCredential,
  { publicKey, counter }: Passkey,
  expected: Expected,
): Promise<{ challenge: string; counter: number } | undefined> {
  const { verifyAuthenticationResponse } = await loadLibrary()
  const { challenge, options } = optionsOf(expected)
  const key = new Uint8Array(Buffer.from(publicKey, 'base64url'))
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...options,
      response: sent as AuthenticationResponseJSON,
      credential: { id: sent.id, publicKey: key, counter },
    })
    return verified ? { challenge: challenge(), counter: authenticationInfo.newCounter } : undefined
  } catch {
    return undefined
  }
}

/** `challenge` returns the challenge that was checked. */
function optionsOf({ party, isChallenge }: Expected) {
  let judged = ''
  const options = {
    expectedChallenge: (challenge: string) => {
      judged = challenge
      return isChallenge(challenge)
    },
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    requireUserVerification: true,
  }
  return { challenge: () => judged, options }
}

/** Loaded by the first passkey, since it takes 150 ms. Its dependencies need `reflect-metadata` first. */
async function loadLibrary(): Promise<typeof import('@simplewebauthn/server')> {
  await import('reflect-metadata')
  return import('@simplewebauthn/server')
}
