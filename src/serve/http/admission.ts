import type { RateLimitStatus } from '../../api/limits/token-bucket.ts'
import { actorName, type Caller, userOf } from '../../plan/viewer/actor.ts'
import type { RequestFacts } from './request-facts.ts'

/** How the requests to a handler are counted. */
interface Counted {
  readonly unlimited?: boolean | undefined
  readonly writes?: boolean | undefined
  readonly reads?: boolean | undefined
}

/**
 * Counts a request against the rate limits of its address or its user; throws if there are too many. Requests from this
 * machine are not limited: they come from the operator's tools, or from an untrusted proxy with many clients behind it.
 */
export function admit(
  facts: RequestFacts,
  handler: Counted,
  method: string,
  whose: 'address' | 'user',
): void {
  if (facts.client.local || handler.unlimited) return
  const reads = !handler.writes && (handler.reads || method === 'GET' || method === 'HEAD')
  const kind = reads ? 'reads' : 'writes'
  const key = whose === 'address' ? facts.client.network : callerOf(facts)
  if (key !== null) recordStatus(facts, facts.rates.count(kind, whose, key))
}

/** Counts sign-ups of a caller who is not signed in. `count` includes those already counted. */
export async function admitSignUps(facts: RequestFacts, count: number): Promise<void> {
  const { client, rates, signUps = 0 } = facts
  if (count <= signUps || callerOf(facts) !== null) return
  recordStatus(facts, await rates.signUp(client.network, { count, counted: signUps }))
  facts.signUps = count
}

/**
 * Counts a stream, for the account with all of its keys, or for the address of a caller without an account. Throws if
 * there are too many. Returns what to call at its end.
 */
export function admitStream({ client, rates }: RequestFacts, { actor }: Caller): () => void {
  if (client.local) return () => {}
  const user = userOf(actor)
  return rates.open(user === undefined ? client.network : `${user.entity}/${user.id}`)
}

function callerOf({ caller }: RequestFacts): string | null {
  return caller === undefined ? null : actorName(caller.actor)
}

function recordStatus(facts: RequestFacts, status: RateLimitStatus | undefined): void {
  if (status === undefined) return
  facts.rateLimits = [...facts.rateLimits.filter(({ policy }) => policy !== status.policy), status]
}
