import { budget } from '../budget.ts'

/** Where an attempt comes from: an address or a device where the account has signed in before, or elsewhere. */
export type Origin = 'address' | 'device' | 'elsewhere'

export interface Count {
  readonly failed: number
  /** Attempts that have not ended yet, but for this one. */
  readonly pending: number
  /** Of the failed ones, in milliseconds: the oldest, the newest. */
  readonly first: number
  readonly last: number
}

export interface Counts {
  /** When they were counted, in milliseconds, by the clock that all of these times are by. */
  readonly now: number
  /** Of this account from this place, in a minute. */
  readonly place: Count
  /** From this address, in a minute. */
  readonly address: Count
  /** Of this account from wherever it has not signed in before, in a day. */
  readonly elsewhere: Count
  /** When a wait that was given to this address ends, unless it was used up. */
  readonly until: number | undefined
}

/** `wait`: attempts that are still under way decide. `until`: too many. `gives`: that time is promised to the address. */
export type Verdict = 'free' | 'wait' | { readonly until: number; readonly gives: boolean }

const MINUTE = 60_000

/**
 * Whether an attempt may be made. A known device counts by itself alone: nobody else's wrong guesses reach it. Elsewhere
 * the wait grows with each failure of the account. Whoever was told a time is let in then, whatever others did meanwhile.
 */
export function judge(counts: Counts, origin: Origin): Verdict {
  const { now } = counts
  const verdicts = [
    judgeMinute(counts.place, budget.failuresPerPlace, now),
    ...(origin === 'device' ? [] : [judgeMinute(counts.address, budget.failuresPerAddress, now)]),
    ...(origin === 'elsewhere' ? [judgeElsewhere(counts)] : []),
  ]
  const refused = verdicts.filter((one) => typeof one === 'object')
  const [worst] = refused.sort((a, b) => b.until - a.until)
  return worst ?? (verdicts.includes('wait') ? 'wait' : 'free')
}

function judgeMinute({ failed, pending, first }: Count, most: number, now: number): Verdict {
  // A failure may lie a little ahead: nobody waits longer for that.
  if (failed >= most) return { until: Math.max(now, Math.min(first, now) + MINUTE), gives: false }
  return failed + pending >= most ? 'wait' : 'free'
}

function judgeElsewhere({ elsewhere, until, now }: Counts): Verdict {
  const { failed, pending } = elsewhere
  const last = Math.min(elsewhere.last, now)
  const longest = now + budget.loginWaitSeconds * 1000
  if (until !== undefined) return until <= now ? 'free' : { until: Math.min(until, longest), gives: false }
  const most = budget.failuresElsewhere
  if (failed < most) return failed + pending < most ? 'free' : 'wait'
  if (last + waitAfter(failed) > now) return { until: last + waitAfter(failed), gives: true }
  return pending === 0 ? 'free' : { until: now + waitAfter(failed + 1), gives: true }
}

/** In milliseconds: a second at first, then twice as long each time. */
export function waitAfter(failures: number): number {
  const doublings = Math.max(0, failures - budget.failuresElsewhere)
  return Math.min(2 ** doublings, budget.loginWaitSeconds) * 1000
}
