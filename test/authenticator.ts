import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** User present, user verified (WebAuthn, section 6.1). */
const PRESENT_AND_VERIFIED = 0x05
const WITH_CREDENTIAL = 0x40

/** An authenticator in software: for tests without a browser, and for answers that no browser would give. */
export class Authenticator {
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #id = randomBytes(16)
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Creates a passkey, as the JSON of a browser. */
  create({ challenge, rp }: { challenge: string; rp: { id: string } }): object {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const coordinates = [x, y].map((one) => Buffer.from(one, 'base64url'))
    // COSE_Key: EC2, ES256, P-256, and the two coordinates (RFC 9053).
    const [a = Buffer.alloc(0), b = Buffer.alloc(0)] = coordinates
    const key = Buffer.concat([hex('a5010203262001215820'), a, hex('225820'), b])
    const length = Buffer.from([0, this.#id.length])
    const about = this.#about(rp.id, WITH_CREDENTIAL, 0)
    const data = Buffer.concat([about, Buffer.alloc(16), length, this.#id, key])
    // {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
    const head = hex('a363666d74646e6f6e656761747453746d74a068617574684461746158')
    const attestationObject = Buffer.concat([head, Buffer.from([data.length]), data]).toString('base64url')
    return this.#credential({
      clientDataJSON: this.#client('webauthn.create', challenge),
      attestationObject,
    })
  }

  /** Signs a login challenge. A copied authenticator may count from a lower number. */
  get({ challenge, rpId }: { challenge: string; rpId: string }, counter = 0): object {
    const clientDataJSON = this.#client('webauthn.get', challenge)
    const data = this.#about(rpId, 0, counter)
    const digest = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()
    const signature = sign('sha256', Buffer.concat([data, digest]), this.#keys.privateKey)
    return this.#credential({
      clientDataJSON,
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    })
  }

  #credential(response: object): object {
    const id = this.#id.toString('base64url')
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #client(type: string, challenge: string): string {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin })).toString('base64url')
  }

  #about(party: string, flags: number, counter: number): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    const digest = createHash('sha256').update(party).digest()
    return Buffer.concat([digest, Buffer.from([PRESENT_AND_VERIFIED | flags]), count])
  }
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
