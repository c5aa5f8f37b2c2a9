import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { StartError } from '../../errors.ts'

/** A secret that only a passphrase opens: scrypt makes the key, AES-256-GCM encrypts. */
export interface SealedSecret {
  readonly sealed: string
  readonly salt: string
  readonly iv: string
  readonly tag: string
  /** The cost of scrypt at the time of sealing. */
  readonly n: number
}

const CIPHER = 'aes-256-gcm'
/** 128 MiB of memory and a few tenths of a second for each guess. */
const COST = 2 ** 17
const BLOCK = 8
const KEY_BYTES = 32
const MIN_CHARACTERS = 12

export function sealSecret(secret: string, passphrase: string): SealedSecret {
  if (passphrase.length < MIN_CHARACTERS)
    throw new StartError(`The passphrase of a backup must have at least ${MIN_CHARACTERS} characters.`)
  const [salt, iv] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv(CIPHER, keyOf(passphrase, salt, COST), iv)
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return {
    sealed: sealed.toString('base64'),
    salt: salt.toString('base64'),
    iv: iv.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    n: COST,
  }
}

/** Opens a sealed secret. Refuses a wrong passphrase. */
export function openSecret({ sealed, salt, iv, tag, n }: SealedSecret, passphrase: string): string {
  const bytes = (text: string) => Buffer.from(text, 'base64')
  try {
    const decipher = createDecipheriv(CIPHER, keyOf(passphrase, bytes(salt), n), bytes(iv))
    decipher.setAuthTag(bytes(tag))
    return Buffer.concat([decipher.update(bytes(sealed)), decipher.final()]).toString('utf8')
  } catch {
    throw new StartError('The passphrase does not open the secret of this backup.')
  }
}

function keyOf(passphrase: string, salt: Buffer, cost: number): Buffer {
  return scryptSync(passphrase, salt, KEY_BYTES, { N: cost, r: BLOCK, p: 1, maxmem: 256 * cost * BLOCK })
}
