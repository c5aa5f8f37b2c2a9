import { readFileSync } from 'node:fs'
import { type Config, type Flags, readConfig } from '../config.ts'
import { StartError } from '../errors.ts'
import { isMemory, type Location } from '../store/location.ts'
import type { GivenArguments, Option } from './arguments.ts'

export const helpOption = { help: { value: undefined, help: 'show this help' } } as const satisfies Record<
  string,
  Option
>

/** The options of every command that opens the database. */
export const storeOptions = {
  config: { value: 'FILE', help: 'the declaration (TAKEBACK_CONFIG; takeback.config.ts)' },
  database: {
    value: 'URL',
    help: 'the database: sqlite:FILE, sqlite::memory: or postgres://… (TAKEBACK_DATABASE; sqlite:data/takeback.db)',
  },
  pool: { value: 'N', help: 'maximum number of connections to a PostgreSQL server (TAKEBACK_POOL; 10)' },
  'statement-timeout': {
    value: 'SECONDS',
    help: 'the longest time for one statement (TAKEBACK_STATEMENT_TIMEOUT; 10)',
  },
  'connect-timeout': {
    value: 'SECONDS',
    help: 'the longest time to wait for a connection to that server (TAKEBACK_CONNECT_TIMEOUT; 5)',
  },
} as const satisfies Record<string, Option>

const { config: _, ...withoutConfig } = storeOptions
/** For commands that need no declaration. */
export const databaseOptions = withoutConfig

export const serverOptions = {
  host: { value: 'HOST', help: 'the address to listen on (HOST; 127.0.0.1)' },
  port: { value: 'N', help: 'the port to listen on, 0 for a free one (PORT; 3000)' },
  drain: {
    value: 'SECONDS',
    help: 'how long to keep serving after SIGTERM, with /api/health at 503 (TAKEBACK_DRAIN; 5, on a terminal 0)',
  },
  log: {
    value: 'pretty|json',
    help: 'the format of the log (TAKEBACK_LOG; pretty on a terminal, else json)',
  },
  'admin-email': {
    value: 'EMAIL',
    help: 'the e-mail of the admin that the first start creates (TAKEBACK_ADMIN_EMAIL; admin@example.com)',
  },
  'allow-origins': {
    value: 'LIST',
    help: 'origins whose web pages may call the API, * for all (TAKEBACK_ALLOW_ORIGINS; none)',
  },
  'trusted-proxies': {
    value: 'LIST',
    help: 'proxies whose X-Forwarded-For is trusted (TAKEBACK_TRUSTED_PROXIES; none)',
  },
  'rate-limit': {
    value: 'LIST',
    help: 'rate limits per address or user (TAKEBACK_RATE_LIMIT; signups=200/20m,writes=2000/100s,reads=10000/500s,streams=1000)',
  },
  'no-query-token': {
    value: undefined,
    help: 'accept tokens only in the header, not as ?token= (TAKEBACK_NO_QUERY_TOKEN; off)',
  },
  'no-docs': {
    value: undefined,
    help: 'do not serve /docs and the OpenAPI document (TAKEBACK_NO_DOCS; off)',
  },
  'no-console': {
    value: undefined,
    help: 'do not serve the web console at /console/ (TAKEBACK_NO_CONSOLE; off)',
  },
  'explain-denials': {
    value: undefined,
    help: 'for development: answers name the rule behind a refusal (TAKEBACK_EXPLAIN_DENIALS; off)',
  },
  url: {
    value: 'URL',
    help: 'the address at which people reach this server: links in mails begin with it (TAKEBACK_URL; where it listens)',
  },
  'app-url': {
    value: 'URL',
    help: 'the address of the pages of your app, for links declared in mail.links (TAKEBACK_APP_URL; none)',
  },
  smtp: {
    value: 'URL',
    help: 'the mail server: smtp[s]://user:password@host:port (TAKEBACK_SMTP; none: mails are written to files)',
  },
  'mail-from': { value: 'EMAIL', help: 'the address that mails come from (TAKEBACK_MAIL_FROM)' },
  outbox: {
    value: 'FOLDER',
    help: 'the folder for mails if there is no mail server (TAKEBACK_OUTBOX; outbox beside the database)',
  },
  'backup-every': { value: 'TIME', help: 'make a backup every 30m, 6h or 1d (TAKEBACK_BACKUP_EVERY; never)' },
  'backup-keep': { value: 'N', help: 'how many of these backups to keep (TAKEBACK_BACKUP_KEEP; 14)' },
  'backup-to': { value: 'FOLDER', help: 'the folder for these backups (TAKEBACK_BACKUP_TO; backups)' },
  'backup-passphrase-file': {
    value: 'FILE',
    help: 'the file with the passphrase that seals the secret in these backups (TAKEBACK_BACKUP_PASSPHRASE_FILE; none)',
  },
} as const satisfies Record<string, Option>

export const passphraseOption = {
  'passphrase-file': {
    value: 'FILE',
    help: 'the file with the passphrase that seals the secret (or pass the passphrase itself as TAKEBACK_BACKUP_PASSPHRASE)',
  },
} as const satisfies Record<string, Option>

/** The passphrase that encrypts the secret in a backup, if any. */
export function passphraseOf(given: GivenArguments): string | undefined {
  const file = given.text('passphrase-file')
  if (file === undefined) return process.env.TAKEBACK_BACKUP_PASSPHRASE || undefined
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new StartError(`The passphrase cannot be read from ${file}: ${(error as Error).message}.`)
  }
}

export function flagsOf(given: GivenArguments): Flags {
  const names = [...Object.keys(storeOptions), ...Object.keys(serverOptions)]
  return Object.fromEntries(
    names.flatMap((name) => (given.text(name) === undefined ? [] : [[name, given.text(name)]])),
  )
}

/** The config for a command that needs a database which outlives it. */
export function keptConfigOf(given: GivenArguments): Config {
  const config = readConfig(flagsOf(given), process.env)
  refuseMemory(config.database)
  return config
}

export function refuseMemory(location: Location): void {
  if (isMemory(location))
    throw new StartError(
      'This command needs a database on disk: a database in memory is lost when the process ends.',
    )
}

/**
 * The variable in which "takeback dev" tells its server the digest of the declaration that it has shown. Such a server
 * migrates to no other declaration, and stops when "takeback dev" has ended.
 */
export const DEV_DECLARATION = 'TAKEBACK_DEV_DECLARATION'
