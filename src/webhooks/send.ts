import { lookup as lookUp } from 'node:dns/promises'
import { isIP } from 'node:net'
import { budget } from '../budget.ts'
import type { Webhook } from '../declare/model.ts'
import { isPublicAddress } from '../declare/public-address.ts'
import { type Message, signatureHeaders } from './signature.ts'

/** The outcome of one request. */
export interface DeliveryOutcome {
  /** The status of the answer; null if there was none. */
  readonly status: number | null
  /** The error for people, without the URL; null after a success. */
  readonly error: string | null
  readonly ms: number
}

/** Replaces the usual lookup, certificates and time limit. */
export interface Network {
  /** Finds the addresses of a host. */
  lookup?(host: string): Promise<readonly string[]>
  /** Trusted certificates, in place of the usual ones. */
  readonly ca?: string
  /** The time limit, in milliseconds. */
  readonly limit?: number
}

/** Sends one request, within its time limit. Rejects only if the signal is aborted. */
export async function send(
  webhook: Webhook,
  message: Message,
  signal: AbortSignal,
  network: Network = {},
): Promise<DeliveryOutcome> {
  const began = performance.now()
  const ended = (outcome: Pick<DeliveryOutcome, 'status' | 'error'>): DeliveryOutcome => ({
    ...outcome,
    ms: Math.round(performance.now() - began),
  })
  const { limit = budget.webhookMs } = network
  const late = AbortSignal.timeout(limit)
  try {
    const status = await post(webhook, message, AbortSignal.any([signal, late]), network)
    return ended({ status, error: status >= 200 && status < 300 ? null : answered(status) })
  } catch (error) {
    signal.throwIfAborted()
    const slow = `did not answer within ${limit / 1000} s`
    return ended({ status: null, error: late.aborted ? slow : reasonFor(error) })
  }
}

/** Returns the status of the first answer. Connects to the addresses looked up here: a second lookup could differ. */
async function post(
  webhook: Webhook,
  message: Message,
  signal: AbortSignal,
  { lookup = systemLookup, ca }: Network,
): Promise<number> {
  const url = new URL(webhook.to)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) === 0 ? await unlessAborted(lookup(host), signal) : [host]
  const refused = webhook.allowed ? undefined : addresses.find((address) => !isPublicAddress(address))
  if (refused !== undefined)
    throw new Refusal(`has the address ${refused}, which is not on the public internet and was not allowed`)
  const tls = { ca, serverName: isIP(host) === 0 ? host : undefined }
  const request = { body: message.body, headers: headersOf(url, webhook, message), tls, signal }
  let failure: unknown = new Refusal('has no address')
  for (const address of addresses.slice(0, budget.webhookAddresses))
    try {
      return await postTo(address, url, request)
    } catch (error) {
      if (signal.aborted) throw error
      failure = error
    }
  throw failure
}

/** Returns the status of the answer. Its body is not read. */
async function postTo(address: string, url: URL, request: object): Promise<number> {
  const target = new URL(url)
  target.hostname = isIP(address) === 6 ? `[${address}]` : address
  target.username = ''
  target.password = ''
  const { status, body } = await fetch(target, {
    ...request,
    method: 'POST',
    redirect: 'manual',
    keepalive: false,
  })
  await body?.cancel()
  return status
}

function headersOf(url: URL, { secrets }: Webhook, message: Message): Record<string, string> {
  const { username, password } = url
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return {
    Host: url.host,
    'Content-Type': 'application/json',
    'User-Agent': 'Takeback',
    ...(credentials !== ':' && { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    ...signatureHeaders(message, secrets),
  }
}

async function systemLookup(host: string): Promise<string[]> {
  const found = await lookUp(host, { all: true })
  // IPv4 first: few networks have only IPv6, and many have none.
  return found.sort((one, other) => one.family - other.family).map(({ address }) => address)
}

/** Stops waiting if the signal is aborted: a lookup cannot be cancelled. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return Promise.race([promise, aborted])
}

/** An error whose message is for people. */
class Refusal extends Error {}

function answered(status: number): string {
  return status >= 300 && status < 400
    ? `answered ${status}, and redirects are not followed`
    : `answered ${status}`
}

/** Other messages may contain the URL, and with it a secret: only their code is shown. */
function reasonFor(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? `could not be reached (${code})` : 'could not be reached'
}
