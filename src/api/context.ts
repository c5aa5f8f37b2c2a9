import type { Throttle } from '../auth/throttle.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Action } from '../declare/define.ts'
import type { Model } from '../declare/model.ts'
import { Failure } from '../errors.ts'
import { type Actor, nameOf } from '../plan/actor.ts'
import type { AmendPlan } from '../plan/amend.ts'
import type { AnswersPlan } from '../plan/answers.ts'
import type { Plan, Plans } from '../plan/compile.ts'
import type { OperationsPlan } from '../plan/operations.ts'
import type { Bag, Row } from '../store/dialect.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { Identities } from './identify.ts'

/** What every operation of the API works with. */
export interface Context {
  readonly model: Model
  readonly plans: Plans
  readonly store: Store
  readonly tokens: Tokens
  readonly identities: Identities
  readonly throttle: Throttle
  readonly endSession: readonly Step[]
  readonly operations: OperationsPlan
  readonly amend: AmendPlan
  readonly answers: AnswersPlan
}

/** What an operation answers, free of HTTP but for the numbers. `body` is JSON already. */
export interface Answer {
  readonly status: number
  readonly body?: string
  readonly headers?: Record<string, string>
}

export interface Preconditions {
  /** Versions of `If-Match`, as `isVersion` takes them; `null` where there is no such header. */
  readonly ifMatch: string | null
}

/** The bag of a new operation, or of a part of one. */
export function operationOf(
  actor: Actor,
  { ifMatch }: Preconditions = { ifMatch: null },
  operation: string = Bun.randomUUIDv7(),
): Bag & { $operation: string } {
  const user = actor.kind === 'user' ? actor : undefined
  return {
    $operation: operation,
    $actor: user?.entity ?? nameOf(actor),
    $actor_id: user?.id ?? null,
    $versions: ifMatch,
  }
}

/**
 * Throws where the actor may not. What a rule hides from reading is not there; what can be read but not changed is
 * forbidden; and whoever is nobody is asked to sign in.
 */
export function allow(plan: Plan, action: Action, actor: Actor, whole = false): void {
  if (plan.may[action](actor)) return
  if (actor.kind === 'nobody') throw signInFirst()
  throw new Failure(whole || plan.may.read(actor) ? 'forbidden' : 'not_found')
}

/** For whoever is nobody, where somebody is needed. */
export function signInFirst(): Failure {
  return new Failure('unauthenticated', { headers: { 'WWW-Authenticate': 'Bearer' } })
}

/** Of what others have to do with something, only what the actor may read is named. */
export function namesFor({ plans }: Context, actor: Actor): (type: string) => boolean {
  return (type) => plans.get(type)?.may.read(actor) ?? false
}

/** An Entity's row (id, version, JSON) as an answer. */
export function entityAnswer(status: number, row: Row | undefined, operation?: string): Answer {
  if (row === undefined) throw new Failure('not_found')
  const [, version, body] = row
  const headers: Record<string, string> = { ETag: `"${version}"` }
  if (operation !== undefined) headers['Takeback-Operation'] = operation
  return { status, body: String(body), headers }
}

/** How often a write that was refused for a reason that has gone meanwhile is tried again. */
export const TRIES = 5

export function matches(ifMatch: string | null, version: unknown): boolean {
  return ifMatch === null || ifMatch.includes(`|${version}|`)
}
