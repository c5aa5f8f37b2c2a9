import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import { defaultRates, type Rates } from './budget.ts'
import { StartError } from './errors.ts'
import type { LogFormat } from './observe/log.ts'
import { hidePassword, isMemory, type Limits, type Location, MEMORY } from './store/location.ts'
import { parseAddress } from './store/postgres/address.ts'
import { faultOfSecret } from './store/secret.ts'

/** Where and how to run. Flags win over the environment, which wins over the defaults here. None of it is declared. */
export interface Config {
  readonly file: string
  readonly database: Location
  readonly host: string
  readonly port: number
  /** How long the server goes on serving after a signal to stop; undefined: depends on the signal. */
  readonly drainMs: number | undefined
  readonly log: LogFormat
  readonly trustedProxies: readonly string[]
  readonly allowedOrigins: readonly string[]
  /** The e-mail address of the admin that the first start makes. */
  readonly adminEmail: string | undefined
  /** The secret that signs tokens. */
  readonly secret: string | undefined
  /** The former secret. Tokens that it has signed are still accepted. */
  readonly previousSecret: string | undefined
  /** Whether refusals name the rule that denied the request. For development only. */
  readonly explainDenials: boolean
  /** Whether `?token=` is accepted. */
  readonly queryToken: boolean
  /** Whether `/docs` and the OpenAPI document are served. */
  readonly docs: boolean
  /** Whether the web console is served. */
  readonly console: boolean
  /** The rate limits. */
  readonly rates: Rates
  /** Scheduled backups, if any. */
  readonly backups: BackupPlan | undefined
  readonly mail: MailConfig
  /** The providers through which people can log in. */
  readonly providers: readonly ProviderConfig[]
}

/** An OpenID Connect provider. */
export interface ProviderConfig {
  /** The name of the provider in URLs. */
  readonly name: string
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: string
}

/** How mails are sent, and where their links lead. */
export interface MailConfig {
  /** `smtp[s]://user:password@host:port`. Without it, mails are written to files. */
  readonly smtp: URL | undefined
  readonly from: string
  /** The folder for mails, if there is no SMTP server. */
  readonly outbox: string
  /** The public address of this server. Default: the address that it listens on. */
  readonly url: string | undefined
  /** The address of the app's own pages. */
  readonly appUrl: string | undefined
}

export interface BackupPlan {
  readonly everyMs: number
  /** How many backups are kept. */
  readonly keep: number
  readonly folder: string
  readonly passphraseFile: string | undefined
}

export type Flags = Readonly<
  Partial<
    Record<
      | 'config'
      | 'database'
      | 'pool'
      | 'statement-timeout'
      | 'connect-timeout'
      | 'host'
      | 'port'
      | 'drain'
      | 'log'
      | 'trusted-proxies'
      | 'admin-email'
      | 'allow-origins'
      | 'rate-limit'
      | 'explain-denials'
      | 'no-query-token'
      | 'no-docs'
      | 'no-console'
      | 'backup-every'
      | 'backup-keep'
      | 'backup-to'
      | 'backup-passphrase-file'
      | 'smtp'
      | 'mail-from'
      | 'outbox'
      | 'url'
      | 'app-url',
      string
    >
  >
>
type Environment = Readonly<Record<string, string | undefined>>

export function readConfig(flags: Flags, environment: Environment): Config {
  const setting = (flag: keyof Flags, variable: string) => flags[flag] ?? (environment[variable] || undefined)
  const database = readDatabase(
    setting('database', 'TAKEBACK_DATABASE') ?? 'sqlite:data/takeback.db',
    readLimits(flags, environment),
  )
  return Object.freeze({
    file: resolve(setting('config', 'TAKEBACK_CONFIG') ?? 'takeback.config.ts'),
    database,
    host: setting('host', 'HOST') ?? '127.0.0.1',
    port: readPort(setting('port', 'PORT') ?? '3000'),
    drainMs: readDrain(setting('drain', 'TAKEBACK_DRAIN')),
    log: readLog(setting('log', 'TAKEBACK_LOG')),
    trustedProxies: readProxies(setting('trusted-proxies', 'TAKEBACK_TRUSTED_PROXIES')),
    allowedOrigins: readOrigins(setting('allow-origins', 'TAKEBACK_ALLOW_ORIGINS')),
    adminEmail: setting('admin-email', 'TAKEBACK_ADMIN_EMAIL'),
    secret: readSecret('TAKEBACK_SECRET', environment),
    previousSecret: readSecret('TAKEBACK_SECRET_PREVIOUS', environment),
    explainDenials: readSwitch(flags, environment, 'explain-denials'),
    queryToken: !readSwitch(flags, environment, 'no-query-token'),
    docs: !readSwitch(flags, environment, 'no-docs'),
    console: !readSwitch(flags, environment, 'no-console'),
    rates: readRates(setting('rate-limit', 'TAKEBACK_RATE_LIMIT')),
    backups: readBackups(setting),
    mail: readMail(setting, database),
    providers: readProviders(environment),
  })
}

/** The default folder for backups. */
export const BACKUP_FOLDER = 'backups'

function readBackups(
  setting: (flag: keyof Flags, variable: string) => string | undefined,
): BackupPlan | undefined {
  const every = setting('backup-every', 'TAKEBACK_BACKUP_EVERY')
  const keep = setting('backup-keep', 'TAKEBACK_BACKUP_KEEP')
  const folder = setting('backup-to', 'TAKEBACK_BACKUP_TO')
  if (every === undefined) {
    if (keep !== undefined || folder !== undefined)
      throw new StartError(
        '--backup-keep and --backup-to need --backup-every: without it no backups are made.',
      )
    return undefined
  }
  return {
    everyMs: readDuration('backup-every', every),
    keep: readNumber('backup-keep', keep ?? '14', 1, 100_000),
    folder: resolve(folder ?? BACKUP_FOLDER),
    passphraseFile: setting('backup-passphrase-file', 'TAKEBACK_BACKUP_PASSPHRASE_FILE'),
  }
}

function readMail(
  setting: (flag: keyof Flags, variable: string) => string | undefined,
  database: Location,
): MailConfig {
  const smtp = readSmtp(setting('smtp', 'TAKEBACK_SMTP'))
  const from = setting('mail-from', 'TAKEBACK_MAIL_FROM')
  const url = readBase('url', setting('url', 'TAKEBACK_URL'))
  if (smtp !== undefined && from === undefined)
    throw new StartError('--smtp needs --mail-from: the address that mails come from.')
  if (smtp !== undefined && url === undefined)
    throw new StartError(
      '--smtp needs --url: the address at which people reach this server, such as https://api.example.com. Links in mails begin with it.',
    )
  const beside = database.kind === 'sqlite' && !isMemory(database) ? dirname(database.path) : 'data'
  return {
    smtp,
    from: from ?? 'Takeback <takeback@localhost>',
    outbox: resolve(setting('outbox', 'TAKEBACK_OUTBOX') ?? `${beside}/outbox`),
    url,
    appUrl: readBase('app-url', setting('app-url', 'TAKEBACK_APP_URL')),
  }
}

const PROVIDER = 'TAKEBACK_OIDC_'

/** Reads `TAKEBACK_OIDC_GOOGLE=https://accounts.google.com,client_id,client_secret`. No flag: others can read flags. */
function readProviders(environment: Environment): ProviderConfig[] {
  const variables = Object.keys(environment).filter((one) => one.startsWith(PROVIDER) && environment[one])
  return variables.sort().map((variable) => {
    const name = variable.slice(PROVIDER.length).toLowerCase()
    const [address = '', clientId = '', ...rest] = (environment[variable] ?? '').split(',')
    const clientSecret = rest.join(',').trim()
    if (!/^[a-z][a-z0-9_]{0,30}$/.test(name))
      throw new StartError(
        `${variable} must end with a name of letters, digits and _, such as ${PROVIDER}GOOGLE.`,
      )
    if (clientId.trim() === '' || clientSecret === '')
      throw new StartError(
        `${variable} must have three parts with commas between them: issuer,client_id,client_secret.`,
      )
    return { name, issuer: readIssuer(variable, address.trim()), clientId: clientId.trim(), clientSecret }
  })
}

function readIssuer(variable: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)
  if (url === undefined || !isSafe || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new StartError(
      `${variable} must begin with the address of an issuer, such as https://accounts.google.com. Plain http is only for this machine.`,
    )
  return url
}

function readSmtp(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || url.search !== '')
    throw new StartError(
      `--smtp must be an address such as smtp://user:password@mail.example.com:587, not "${hidePassword(text)}".`,
    )
  return url
}

/** Reads a base URL, and removes the `/` at its end. */
function readBase(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new StartError(`--${flag} must be an address such as https://example.com, not "${text}".`)
  return url.href.replace(/\/+$/, '')
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** Timers cannot wait longer than this. */
const DAYS_MAX = 24

function readDuration(flag: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const ms = Number(number) * (UNIT_MS[unit as keyof typeof UNIT_MS] ?? 0)
  if (!(ms > 0 && ms <= DAYS_MAX * UNIT_MS.d))
    throw new StartError(`--${flag} must be a time such as 30m, 6h or 1d, up to ${DAYS_MAX}d, not "${text}".`)
  return ms
}

/** A database in memory, which is lost when the process ends. */
export const IN_MEMORY = 'sqlite::memory:'

/** Reads `sqlite:data/takeback.db`, `sqlite::memory:` or `postgres://user:password@host/name`. */
export function readDatabase(url: string, limits: Limits, flag = '--database'): Location {
  const { statementMs } = limits
  if (/^sqlite:(\/\/\/?)?:memory:$/.test(url)) return { kind: 'sqlite', path: MEMORY, statementMs }
  if (url.startsWith('sqlite:') && url.length > 'sqlite:'.length) {
    const path = resolve(url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, ''))
    return { kind: 'sqlite', path, statementMs }
  }
  if (/^postgres(ql)?:\/\/./.test(url)) {
    parseAddress(url, flag)
    return { kind: 'postgres', url, ...limits }
  }
  throw new StartError(
    `${flag} must be an address such as sqlite:data/takeback.db or postgres://user:password@host/name, not "${hidePassword(url)}".`,
  )
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port < 0 || port > 65_535)
    throw new StartError(`--port must be a number from 0 to 65535, not "${text}".`)
  return port
}

/** Reads the limits of a database: connections and timeouts. */
export function readLimits(flags: Flags, environment: Environment): Limits {
  const setting = (flag: keyof Flags, variable: string) => flags[flag] ?? (environment[variable] || undefined)
  return {
    pool: readNumber('pool', setting('pool', 'TAKEBACK_POOL') ?? '10', 1, 1000),
    statementMs: readSeconds(
      'statement-timeout',
      setting('statement-timeout', 'TAKEBACK_STATEMENT_TIMEOUT') ?? '10',
    ),
    connectMs: readSeconds('connect-timeout', setting('connect-timeout', 'TAKEBACK_CONNECT_TIMEOUT') ?? '5'),
  }
}

function readNumber(flag: string, text: string, least: number, most: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1
  if (number < least || number > most)
    throw new StartError(`--${flag} must be a number from ${least} to ${most}, not "${text}".`)
  return number
}

function readSeconds(flag: string, text: string, least = 0.1): number {
  const seconds = /^\d{1,6}(\.\d{1,3})?$/.test(text) ? Number(text) : -1
  if (seconds < least || seconds > 3600)
    throw new StartError(`--${flag} must be seconds from ${least} to 3600, not "${text}".`)
  return seconds * 1000
}

function readDrain(text: string | undefined): number | undefined {
  return text === undefined ? undefined : readSeconds('drain', text, 0)
}

/** Reads a switch such as `--no-docs` or `TAKEBACK_NO_DOCS=1`. */
function readSwitch(flags: Flags, environment: Environment, flag: keyof Flags): boolean {
  if (flags[flag] !== undefined) return true
  const variable = `TAKEBACK_${flag.toUpperCase().replaceAll('-', '_')}`
  const text = environment[variable] || '0'
  if (text !== '0' && text !== '1') throw new StartError(`${variable} must be 1 or 0, not "${text}".`)
  return text === '1'
}

function readLog(text: string | undefined): LogFormat {
  if (text === undefined) return process.stdout.isTTY ? 'pretty' : 'json'
  if (text === 'pretty' || text === 'json') return text
  throw new StartError(`--log must be pretty or json, not "${text}".`)
}

const RATE_NAMES = { signups: 'signUps', writes: 'writes', reads: 'reads' } as const
const SECONDS = { s: 1, m: 60, h: 3600 } as const

/**
 * Reads `signups=200/20m,writes=2000/100s,reads=off,streams=1000`: for each rate the burst, then the refill per second,
 * minute or hour; for streams how many may be open.
 */
function readRates(text: string | undefined): Rates {
  const rates: { -readonly [Name in keyof Rates]: Rates[Name] } = { ...defaultRates }
  for (const one of listOf(text)) {
    const [, open] = /^streams=(off|[1-9]\d{0,8})$/.exec(one) ?? []
    if (open !== undefined) rates.streams = open === 'off' ? undefined : Number(open)
    else Object.assign(rates, readRate(one))
  }
  return Object.freeze(rates)
}

function readRate(text: string): Partial<Rates> {
  const [, name = '', limit = '', burst, refill, unit] =
    /^(signups|writes|reads)=(off|(\d{1,9})\/(\d{1,9})([smh]))$/.exec(text) ?? []
  if (limit !== 'off' && !(Number(burst) > 0 && Number(refill) > 0))
    throw new StartError(
      `--rate-limit must be limits such as signups=200/20m,writes=2000/100s,reads=off,streams=1000, not "${text}".`,
    )
  const rate =
    limit === 'off'
      ? undefined
      : { burst: Number(burst), perSecond: Number(refill) / SECONDS[unit as keyof typeof SECONDS] }
  return { [RATE_NAMES[name as keyof typeof RATE_NAMES]]: rate }
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

function readSecret(variable: string, environment: Environment): string | undefined {
  const secret = environment[variable]
  if (secret === undefined || secret === '') return undefined
  const fault = faultOfSecret(secret)
  if (fault !== undefined) throw new StartError(`${variable} ${fault}; "openssl rand -base64 32" makes one.`)
  return secret
}
