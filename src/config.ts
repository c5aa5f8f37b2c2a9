import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import { SECRET_MIN_BYTES } from './auth/tokens.ts'
import { StartError } from './errors.ts'
import type { LogFormat } from './http/log.ts'

/** Where and how to run: flags, then environment, then what stands here. Never in the declaration. */
export interface Config {
  readonly file: string
  readonly database: { readonly kind: 'sqlite'; readonly path: string }
  readonly host: string
  readonly port: number
  readonly log: LogFormat
  readonly trustedProxies: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly secret: string | undefined
}

export type Flags = Readonly<
  Partial<
    Record<'config' | 'database' | 'host' | 'port' | 'log' | 'trusted-proxies' | 'allow-origins', string>
  >
>
type Environment = Readonly<Record<string, string | undefined>>

export function readConfig(flags: Flags, environment: Environment): Config {
  const setting = (flag: keyof Flags, variable: string) => flags[flag] ?? (environment[variable] || undefined)
  return Object.freeze({
    file: resolve(setting('config', 'TAKEBACK_CONFIG') ?? 'takeback.config.ts'),
    database: readDatabase(setting('database', 'TAKEBACK_DATABASE') ?? 'sqlite:data/takeback.db'),
    host: setting('host', 'HOST') ?? '127.0.0.1',
    port: readPort(setting('port', 'PORT') ?? '3000'),
    log: readLog(setting('log', 'TAKEBACK_LOG')),
    trustedProxies: readProxies(setting('trusted-proxies', 'TAKEBACK_TRUSTED_PROXIES')),
    allowedOrigins: readOrigins(setting('allow-origins', 'TAKEBACK_ALLOW_ORIGINS')),
    secret: checkSecret(environment.TAKEBACK_SECRET),
  })
}

function readDatabase(url: string): Config['database'] {
  if (url.startsWith('sqlite:') && url.length > 'sqlite:'.length)
    return { kind: 'sqlite', path: resolve(url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')) }
  if (/^postgres(ql)?:/.test(url))
    throw new StartError(
      'PostgreSQL is not served yet: name an SQLite file, such as sqlite:data/takeback.db.',
    )
  throw new StartError(`--database must be an address such as sqlite:data/takeback.db, not "${url}".`)
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port < 0 || port > 65_535)
    throw new StartError(`--port must be a number from 0 to 65535, not "${text}".`)
  return port
}

function readLog(text: string | undefined): LogFormat {
  if (text === undefined) return process.stdout.isTTY ? 'pretty' : 'json'
  if (text === 'pretty' || text === 'json') return text
  throw new StartError(`--log must be pretty or json, not "${text}".`)
}

function readProxies(text: string | undefined): readonly string[] {
  const networks = listOf(text)
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const most = isIP(address) === 6 ? 128 : 32
    if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new StartError(
        `--trusted-proxies must be addresses or networks such as 10.0.0.0/8, not "${network}".`,
      )
  }
  return networks
}

function readOrigins(text: string | undefined): readonly string[] {
  const origins = listOf(text)
  for (const origin of origins)
    if (origin !== '*' && !(URL.canParse(origin) && new URL(origin).origin === origin))
      throw new StartError(
        `--allow-origins must be * or origins such as https://example.com, not "${origin}".`,
      )
  return origins
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

function checkSecret(secret: string | undefined): string | undefined {
  if (secret === undefined || secret === '') return undefined
  if (Buffer.byteLength(secret) < SECRET_MIN_BYTES)
    throw new StartError(
      `TAKEBACK_SECRET must have at least ${SECRET_MIN_BYTES} bytes; "openssl rand -base64 32" makes one.`,
    )
  return secret
}

/** The secret that signs tokens: the given one, or one made once and kept beside the database for its owner only. */
export function secretOf({ secret, database }: Config): string {
  if (secret !== undefined) return secret
  const file = `${database.path}.secret`
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
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
