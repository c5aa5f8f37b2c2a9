import { afterAll, beforeAll } from 'bun:test'

/*
 * A hash as strong as the server's takes a core for a thirtieth of a second, at each sign-up and login. In the process of
 * the tests Bun makes weak ones instead. Nothing else differs: a hash says itself how it is to be verified.
 */

const { hash } = Bun.password

const weakHash: typeof hash = (secret) =>
  hash.call(Bun.password, secret, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })

export function weakenHashes(): void {
  Bun.password.hash = weakHash
}

/** For a file that is about the strength of hashes, or about the time that they take. */
export function withStrongHashes(): void {
  beforeAll(() => {
    Bun.password.hash = hash
  })
  afterAll(weakenHashes)
}
