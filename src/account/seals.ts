import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The purpose of the key: keys for different purposes cannot replace each other. */
const PURPOSE = 'takeback: former secrets'

/**
 * Encrypts former hashes of secrets (AES-256-GCM), so that a backup of the database alone does not reveal them. The key
 * is derived from the server's secret (HKDF, RFC 5869). Once that is replaced, values sealed with it cannot be opened.
 */
export class Seals {
  readonly #keys: readonly Buffer[]

  /** The first secret seals, and all of them open. */
  constructor(secrets: readonly [string, ...string[]]) {
    this.#keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES)))
  }

  /** Seals a value. `about` must be the same when it is opened, so a value cannot be moved to another place. */
  seal(value: string, about: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#keys[0] ?? '', nonce)
    cipher.setAAD(Buffer.from(about))
    const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Seals a value again with the first secret; undefined if it is already sealed with it, or if no key opens it. */
  reseal(sealed: string, about: string): string | undefined {
    const [first] = this.#keys
    if (first === undefined || openWith(first, Buffer.from(sealed, 'base64url'), about) !== undefined)
      return undefined
    const value = this.open(sealed, about)
    return value === undefined ? undefined : this.seal(value, about)
  }

  /** Opens a value; undefined if no key opens it. */
  open(sealed: string, about: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    for (const key of this.#keys) {
      const opened = openWith(key, bytes, about)
      if (opened !== undefined) return opened
    }
    return undefined
  }
}

function openWith(key: Buffer, bytes: Buffer, about: string): string | undefined {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(about))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const value = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([value, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
