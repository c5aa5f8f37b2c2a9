import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { NewPasskey, Passkey } from './passkeys.ts'
import type { RelyingParty } from './relying-party.ts'

/** EdDSA, ES256 and RS256 (RFC 9053): every authenticator has one of them. */
export const ALGORITHMS = [-8, -7, -257]

/** What a browser has made, as its `toJSON` gives it. The rest of it is judged here. */
export interface SentCredential {
  readonly id: string
  readonly response: { readonly clientDataJSON: string }
}

/** What it must be for. */
export interface Expected {
  readonly party: RelyingParty
  isChallenge(challenge: string): boolean
}

/**
 * A new passkey and the challenge that it has signed, if all of it is right. The package is loaded by the first passkey,
 * since that takes 150 ms. What it says is wrong is told to nobody: its texts have challenges in them.
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

/** The counter of a passkey after this use, and the challenge, if the signature is right and the counter did not go back. */
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

/** `challenge` is the one that was judged. */
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

/** Loaded by the first passkey, since it takes 150 ms. What it is built on wants the other package to be there first. */
async function loadLibrary(): Promise<typeof import('@simplewebauthn/server')> {
  await import('reflect-metadata')
  return import('@simplewebauthn/server')
}
