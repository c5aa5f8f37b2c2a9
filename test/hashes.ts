import { afterAll, beforeAll } from 'bun:test'
import { decoy } from '../src/account/passwords.ts'

/*
 * A hash as strong as the server's takes a thirtieth of a second of processor time, at each sign-up and login. In the
 * process of the tests, Bun makes weak hashes instead, and the decoy hash is as weak. Nothing else differs: a hash
 * contains the parameters for its verification.
 */

const { hash, verify } = Bun.password

const weakHash: typeof hash = (secret) =>
  hash.call(Bun.password, secret, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })

/** The decoy, which belongs to no secret either. */
const weakDecoy = decoy.replace(/m=\d+,t=\d+/, 'm=8,t=1')

const weakVerify: typeof verify = (secret, hashed, algorithm) =>
  verify.call(Bun.password, secret, hashed === decoy ? weakDecoy : hashed, algorithm)

export function weakenHashes(): void {
  Object.assign(Bun.password, { hash: weakHash, verify: weakVerify })
}

/** For a file about the strength of hashes, or the time that they take. */
export function withStrongHashes(): void {
  beforeAll(() => {
    Object.assign(Bun.password, { hash, verify })
  })
  afterAll(weakenHashes)
}
