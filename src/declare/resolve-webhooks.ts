import { isIP } from 'node:net'
import { budget } from '../budget.ts'
import { parseCondition } from './cel/check.ts'
import { asksFolded, asksReferrers, type Expression } from './cel/expression.ts'
import { settled } from './cel/fold.ts'
import { Mistake, parseCel, startingNames } from './cel/parse.ts'
import { usesNow } from './checks.ts'
import { didYouMean } from './closest.ts'
import type { EntityType, Model, Webhook } from './model.ts'
import type { Problems } from './problems.ts'
import { isPublicAddress } from './public-address.ts'
import { isRecord } from './record.ts'
import { allFields, membersOf } from './scope.ts'
import { webhookKinds } from './webhooks.ts'

type EntityTypes = Model['entities']

const NAME = /^[a-z][a-z0-9_-]{0,62}$/
const OPTIONS = ['to', 'secret', 'on', 'filter', 'allow']
const EXAMPLE =
  "must be webhooks by name, such as { erp: { to: env('ERP_URL'), secret: env('ERP_SECRET'), on: ['orders.*'] } }"

export function resolveWebhooks(declared: unknown, entities: EntityTypes, problems: Problems): Webhook[] {
  if (declared === undefined) return []
  if (!isRecord(declared)) {
    problems.push(['webhooks', EXAMPLE])
    return []
  }
  return Object.entries(declared).flatMap(([name, one]) => {
    const path = `webhooks.${name}`
    if (!NAME.test(name))
      problems.push([
        path,
        'must be named with lower-case letters, digits, _ and -, starting with a letter, at most 63 characters',
      ])
    if (isRecord(one)) return [resolveWebhook(name, one, entities, problems)]
    problems.push([path, "must be an object with to, secret and on: { to: …, secret: …, on: ['orders.*'] }"])
    return []
  })
}

function resolveWebhook(
  name: string,
  declared: Record<string, unknown>,
  entities: EntityTypes,
  problems: Problems,
): Webhook {
  const path = `webhooks.${name}`
  for (const option of Object.keys(declared))
    if (!OPTIONS.includes(option))
      problems.push([
        `${path}.${option}`,
        `is not an option${didYouMean(option, OPTIONS)}; the options are ${OPTIONS.join(', ')}`,
      ])
  const allow = resolveAllowed(declared.allow, path, problems)
  const kinds = resolveEvents(declared.on, entities, path, problems)
  return Object.freeze({
    name,
    ...resolveTarget(declared.to, allow, path, problems),
    secrets: resolveSecrets(declared.secret, path, problems),
    kinds,
    filter: resolveFilter(declared.filter, { kinds, entities, path: `${path}.filter` }, problems),
  })
}

interface FilterPlace {
  readonly kinds: Webhook['kinds']
  readonly entities: EntityTypes
  readonly path: string
}

function resolveFilter(
  declared: unknown,
  { kinds, entities, path }: FilterPlace,
  problems: Problems,
): Expression | undefined {
  if (declared === undefined) return undefined
  const types = [...kinds.keys()].flatMap((name) => entities.get(name) ?? [])
  const [type] = types
  if (typeof declared !== 'string')
    problems.push([path, `must be a condition in CEL, such as 'status == "paid"'`])
  else if (types.length > 1) problems.push([path, 'is for events of one type; declare a webhook for each'])
  else if (type !== undefined)
    try {
      return filterOf(declared, type, entities)
    } catch (error) {
      if (!(error instanceof Mistake)) throw error
      problems.push([path, `${error.message}, in ${JSON.stringify(declared)}`])
    }
  return undefined
}

/** The condition of a filter. A retry must get the same result, so it has no `me`, no `now` and no referrers. */
function filterOf(text: string, type: EntityType, entities: EntityTypes): Expression {
  if (startingNames(parseCel(text)).has('me')) throw new Mistake('uses me, but a webhook has no caller')
  const own = ['id', 'version', 'created_at', 'updated_at'] as const
  const self = membersOf(type, entities, allFields, { own, referrers: false })
  const condition = settled(parseCondition(text, { self, me: null, anybody: [] }, budget.ruleItems))
  if (usesNow(condition))
    throw new Mistake('uses now, but a retry comes later; compare with created_at or updated_at')
  if (asksFolded(condition)) throw new Mistake('uses fold(), but the journal has no folded texts')
  if (asksReferrers(condition)) throw new Mistake('uses referrers, but they change without the Entity')
  if (condition.op === 'constant') throw new Mistake('does not depend on the Entity')
  return condition
}

/** `host` or `host:port`. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/

function resolveAllowed(declared: unknown, path: string, problems: Problems): readonly string[] {
  if (declared === undefined) return []
  if (Array.isArray(declared) && declared.every((one) => typeof one === 'string' && HOST.test(one)))
    return declared
  problems.push([`${path}.allow`, "must be a list of hosts in lower case, such as ['localhost:9000']"])
  return []
}

function resolveTarget(
  declared: unknown,
  allow: readonly string[],
  path: string,
  problems: Problems,
): Pick<Webhook, 'to' | 'allowed'> {
  const url = typeof declared === 'string' && URL.canParse(declared) ? new URL(declared) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    problems.push([`${path}.to`, 'must be a URL, such as https://erp.example.com/takeback'])
    return { to: '', allowed: false }
  }
  if (!isEncoded(url.username) || !isEncoded(url.password))
    problems.push([`${path}.to`, 'has a user or a password that is not encoded: write % as %25'])
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const allowed = allow.includes(url.hostname) || allow.includes(`${url.hostname}:${port}`)
  const advice = `allow: ['${url.hostname}:${port}']`
  if (!allowed && isPrivateName(url.hostname))
    problems.push([`${path}.to`, `is not on the public internet; if that is intended, add ${advice}`])
  else if (!allowed && url.protocol === 'http:')
    problems.push([`${path}.to`, `must begin with https://; for a network that you trust, add ${advice}`])
  return { to: url.href, allowed }
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Whether a host is private without a lookup. Other names are looked up when something is sent. */
function isPrivateName(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) !== 0 ? !isPublicAddress(address) : /(^|\.)localhost\.?$/.test(hostname)
}

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/

/** Resolves the secrets. The messages never repeat them. */
function resolveSecrets(declared: unknown, path: string, problems: Problems): string[] {
  const all: unknown[] = Array.isArray(declared) ? declared : [declared]
  const keys = all.map((secret) => (typeof secret === 'string' ? (SECRET.exec(secret)?.[1] ?? '') : ''))
  const isKey = (key: string) => {
    const { length } = Buffer.from(key, 'base64')
    return length >= 24 && length <= 64
  }
  if (keys.length === 0 || !keys.every(isKey))
    problems.push([
      `${path}.secret`,
      'must be whsec_ and 24 to 64 bytes in base64; "openssl rand -base64 32" makes such bytes',
    ])
  return keys
}

function resolveEvents(
  declared: unknown,
  entities: EntityTypes,
  path: string,
  problems: Problems,
): Map<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>()
  if (!Array.isArray(declared) || declared.length === 0) {
    problems.push([`${path}.on`, "must be a list of events, such as ['orders.*', 'invoices.create']"])
    return found
  }
  for (const [at, event] of declared.entries()) {
    const [entity = '', kind = '', ...more] = String(event).split('.')
    const kinds = webhookKinds.filter((one) => kind === '*' || kind === one)
    if (typeof event !== 'string' || kinds.length === 0 || more.length > 0)
      problems.push([`${path}.on.${at}`, kindMistake(String(event), entity, kind)])
    else if (!entities.has(entity))
      problems.push([
        `${path}.on.${at}`,
        `"${entity}" is not an Entity type${didYouMean(entity, [...entities.keys()])}`,
      ])
    else found.set(entity, new Set([...(found.get(entity) ?? []), ...kinds]))
  }
  return found
}

function kindMistake(event: string, entity: string, kind: string): string {
  const kinds = [...webhookKinds, '*']
  return kind === ''
    ? `"${event}" must be a type and a kind of change, such as '${entity || 'orders'}.*'`
    : `"${event}" is not an event${didYouMean(kind, kinds)}; the kinds are ${kinds.join(', ')}`
}
