import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'

/**
 * A backup contains the hash of its own bytes, with zeros in place of the hash. So any damaged byte is detected,
 * whatever it belongs to.
 */
const LENGTH = 64
const CHUNK = 1024 * 1024
const ZEROS = Buffer.alloc(LENGTH, '0')

/** Reserves the place of the hash until the file is complete. */
export function newPlaceholder(): string {
  return randomBytes(LENGTH / 2).toString('hex')
}

/** Replaces the placeholder by the hash. */
export function fingerprint(file: string, placeholder: string): void {
  const { hash, places } = hashWithout(file, placeholder)
  if (places.length !== 1) throw new Error(`${file} has ${places.length} places for its hash`)
  const descriptor = openSync(file, 'r+')
  try {
    for (const place of places) writeSync(descriptor, hash, place)
  } finally {
    closeSync(descriptor)
  }
}

export function isIntact(file: string, hash: string): boolean {
  return hash.length === LENGTH && hashWithout(file, hash).hash === hash
}

function hashWithout(file: string, text: string): { hash: string; places: readonly number[] } {
  const digest = createHash('sha256')
  const places: number[] = []
  const descriptor = openSync(file, 'r')
  try {
    // Bytes that may be the beginning of the text are kept until the next chunk is read.
    let pending = Buffer.alloc(0)
    let offset = 0
    for (const chunk = Buffer.alloc(CHUNK); ; ) {
      const read = readSync(descriptor, chunk, 0, CHUNK, null)
      pending = Buffer.concat([pending, chunk.subarray(0, read)])
      for (let at = pending.indexOf(text); at >= 0; at = pending.indexOf(text)) {
        places.push(offset + at)
        ZEROS.copy(pending, at)
      }
      const ready = read === 0 ? pending.length : Math.max(0, pending.length - LENGTH + 1)
      digest.update(pending.subarray(0, ready))
      pending = pending.subarray(ready)
      offset += ready
      if (read === 0) return { hash: digest.digest('hex'), places }
    }
  } finally {
    closeSync(descriptor)
  }
}
