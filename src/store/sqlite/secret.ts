import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { StartError } from '../../errors.ts'
import { faultOfSecret, newSecret } from '../secret.ts'

export function secretFile(database: string): string {
  return `${database}.secret`
}

/** The secret, if there is one already. */
export function keptSecret(database: string): string | undefined {
  return existsSync(secretFile(database)) ? keepSecret(database) : undefined
}

/** Stores the secret in a file beside the database, for its owner only. If there is one already, returns that. */
export function keepSecret(database: string, given: string = newSecret()): string {
  const file = secretFile(database)
  try {
    writeFileSync(file, `${given}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new StartError(`The secret cannot be written to ${file}: ${(error as Error).message}.`)
  }
  const kept = readOwn(file).trim()
  const fault = faultOfSecret(kept)
  if (fault !== undefined)
    throw new StartError(
      `The secret in ${file} ${fault}: put the old one back, or remove the file, which ends all sessions.`,
    )
  return kept
}

/** Reads the secret. Refuses a file that others could have read or replaced. */
function readOwn(file: string): string {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new StartError(
      code === 'ELOOP'
        ? `The secret ${file} is a symbolic link: put the file itself there, or pass the secret as TAKEBACK_SECRET.`
        : `The secret cannot be read from ${file}: ${message}.`,
    )
  }
  try {
    if (isExposed(fstatSync(descriptor).mode))
      throw new StartError(
        `Others can read the secret ${file}: run "chmod 600 ${file}". If somebody may have read it, remove the file instead: that ends all sessions, and a new secret is generated.`,
      )
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/** Whether others than the owner have any rights to a file. Windows has no such rights. */
export function isExposed(mode: number): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0
}
