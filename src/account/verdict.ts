import { budget } from '../budget.ts'

/** Where an attempt comes from: an address or a device where the account has signed in before, or elsewhere. */
export type Origin = 'address' | 'device' | 'elsewhere'

export interface Count {
  readonly failed: number
  /** Attempts that have not ended yet, without this one. */
  readonly pending: number
  /** The times of the oldest and the newest failure, in milliseconds. */
  readonly first: number
  readonly last: number
}

export interface Counts {
  /** When the attempts were counted, in milliseconds, by the same clock as all these times. */
  readonly now: number
  /** Attempts for this account from this place, in the last minute. */
  readonly place: Count
  /** Attempts from this address, in the last minute. */
  readonly address: Count
  /** Attempts for this account from places where it has not signed in before, in the last day. */
  readonly elsewhere: Count
  /** When a wait that this address was given ends, unless it was used up. */
  readonly until: number | undefined
}

/** `wait`: pending attempts decide. `until`: too many until then. `gives`: the address is promised that time. */
export type Verdict = 'free' | 'wait' | { readonly until: number; readonly gives: boolean }

const MINUTE = 60_000

/**
 * Decides whether an attempt may be made. A known device counts alone: nobody else's wrong guesses affect it. Elsewhere
 * the wait grows with each failure of the account. Whoever was told a time is let in then, whatever others did.
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
  // The clock may put a failure slightly ahead: that must not prolong the wait.
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

/** The wait in milliseconds: one second at first, then twice as long each time. */
export function waitAfter(failures: number): number {
  const doublings = Math.max(0, failures - budget.failuresElsewhere)
  return Math.min(2 ** doublings, budget.loginWaitSeconds) * 1000
}
