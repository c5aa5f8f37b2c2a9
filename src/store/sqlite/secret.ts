import { readFileSync, writeFileSync } from 'node:fs'
import { StartError } from '../../errors.ts'
import { newSecret, SECRET_MIN_BYTES } from '../secret.ts'

export function secretFile(database: string): string {
  return `${database}.secret`
}

/** Kept in a file beside the database, for its owner only. */
export function keepSecret(database: string, given: string = newSecret()): string {
  const file = secretFile(database)
  try {
    writeFileSync(file, `${given}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new StartError(`The secret cannot be written to ${file}: ${(error as Error).message}.`)
  }
  let kept: string
  try {
    kept = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartError(`The secret cannot be read from ${file}: ${(error as Error).message}.`)
  }
  if (Buffer.byteLength(kept) < SECRET_MIN_BYTES)
    throw new StartError(
      `The secret in ${file} is too short: put back the one that was there, or remove the file, which ends all logins.`,
    )
  return kept
}
