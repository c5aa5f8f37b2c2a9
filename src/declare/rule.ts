/** A rule without a condition. */
export interface Marker {
  readonly rule: 'everyone' | 'signed-in'
}

/** Who may do something: a marker such as `everyone`, or a condition in CEL, such as `'owner.id == me.id'`. */
export type Rule = Marker | string

/** Passes for every caller, signed in or not. */
export const everyone: Marker = Object.freeze({ rule: 'everyone' })
/** Allows signed-in users of any type. */
export const signedIn: Marker = Object.freeze({ rule: 'signed-in' })

export function isRule(value: unknown): value is Rule {
  return typeof value === 'string' || isMarker(value)
}

/** Compares content: another copy of this module may have made it, such as that of an installed package. */
function isMarker(value: unknown): boolean {
  const rule = typeof value === 'object' && value !== null && 'rule' in value ? value.rule : undefined
  return rule === 'everyone' || rule === 'signed-in'
}
