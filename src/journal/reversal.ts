import { emailKey } from '../declare/email-key.ts'
import { providedOf } from '../declare/model.ts'
import { checkOf, isRequired } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Amendment, AmendmentGroup } from '../plan/past/amendment.ts'
import { columnsBeside, EMAIL_KEY } from '../plan/tables/schema.ts'
import type { Bound, Params } from '../store/dialect.ts'
import { isDerivedFrom } from '../store/tables.ts'
import { bodyOf, isEqual, type Leaf, leavesOf, type State, strayPaths } from './leaves.ts'
import { DELETED, type Snapshot, type Version } from './versions.ts'

/** A conflict: the column no longer has the value that this version gave it. */
export interface Conflict {
  /** A leaf's column, or `deleted_at`. */
  readonly column: string
  readonly version: number
}

/** The changes that take an Entity back, and their conflicts. */
export interface Reversal {
  readonly plan: Plan
  readonly now: Now
  readonly amendment: Amendment
  readonly columns: readonly string[]
  readonly conflicts: readonly Conflict[]
  /** By column: the operation that had changed it; undefined if there were several. */
  readonly by: ReadonlyMap<string, string | undefined>
  /** Those of the undone operations that had deleted it. */
  readonly deletedBy: ReadonlySet<string>
  /** Dot paths that are no longer declared, or whose former values no longer fit. */
  readonly unmapped: readonly string[]
}

/** The name of the Entity, such as `bookings/7`. */
export function reversedEntity({ plan, amendment }: Pick<Reversal, 'plan' | 'amendment'>): string {
  return `${plan.type.name}/${amendment.id}`
}

/** An Entity as it is now. */
export interface Now {
  readonly id: number
  readonly version: number
  /** The operation that deleted it. */
  readonly deletion: string | null
  readonly snapshot: Snapshot
}

/** Marks a deletion by the undo itself. */
const ITSELF = '$itself'

/** The state that an Entity is to get. It starts as the present one; each version that is taken back changes it. */
class Target {
  readonly #now: Now
  readonly values = new Map<Leaf, unknown>()
  readonly by = new Map<string, string | undefined>()
  readonly deletedBy = new Set<string>()
  deletion: string | null

  constructor(now: Now) {
    this.#now = now
    this.deletion = now.deletion
  }

  set(leaf: Leaf, value: unknown, by?: string): void {
    this.values.set(leaf, value)
    this.by.set(leaf.column, this.by.has(leaf.column) && this.by.get(leaf.column) !== by ? undefined : by)
  }

  value(leaf: Leaf): unknown {
    return this.values.has(leaf) ? this.values.get(leaf) : leaf.read(this.#now.snapshot.state)
  }
}

const NOWHERE = -1

/** Columns that already have the value from before an earlier one of the versions to take back. */
class GoneBack {
  readonly #versions: readonly Version[]
  /** By column: the place of that version; NOWHERE if there is none. */
  readonly #places = new Map<string, number>()

  constructor(versions: readonly Version[]) {
    this.#versions = versions
  }

  /** Whether a column has gone back further. `at`: the place of the version that is being taken back. */
  has(at: number, key: string, isChange: IsChange): boolean {
    const known = this.#places.get(key)
    if (known === undefined || (known <= at && known !== NOWHERE)) {
      const place = this.#versions.findIndex((after, place) => {
        const before = this.#versions[place + 1]
        return place > at && after.undone && before !== undefined && isChange(before, after)
      })
      this.#places.set(key, place)
    }
    return this.#places.get(key) !== NOWHERE
  }
}

/** Whether a version changed something that now has the value from before it. */
type IsChange = (before: Version, after: Version) => boolean

/** `around`: the object that is removed as a whole. Its values count only if the version had removed it. */
function changeFrom(leaf: Leaf, value: unknown, around: Leaf | undefined): IsChange {
  return ({ snapshot: before }, { snapshot: after }) => {
    const [from, to] = [leaf.read(before.state), leaf.read(after.state)]
    if (from === undefined || to === undefined || !isEqual(value, from)) return false
    return around === undefined ? !isEqual(from, to) : around.read(after.state) === null
  }
}

/**
 * Takes back versions of one Entity, newest first. A value that is still as a version made it goes back to what it was
 * before that version. A value that is already as it was before this version, or before an earlier one of them, stays.
 * Otherwise somebody else has changed it: a conflict. With conflicts, the amendment is what would be done without them.
 */
export function reverse(plan: Plan, versions: readonly Version[], now: Now): Reversal {
  const target = new Target(now)
  const conflicts: Conflict[] = []
  const stray = new Set<string>()
  const back = new GoneBack(versions)
  const leaves = leavesOf(plan.type)
  for (const [at, version] of versions.entries()) {
    if (!version.undone) continue
    const against = (column: string) => conflicts.push({ column, version: version.version })
    if (version.version === 1) {
      undoCreate(plan, target, version, against)
      continue
    }
    const before = versions[at + 1]
    if (before === undefined) continue
    undoDeletion(target, before, version, () => {
      const isBack = back.has(at, DELETED, (from, to) => {
        return from.deletion === target.deletion && to.deletion !== target.deletion
      })
      if (!isBack) against(DELETED)
      return isBack
    })
    if (before.snapshot.hasSameValues(version.snapshot)) continue
    const isBack = (leaf: Leaf, inMade: boolean) => {
      const around = inMade ? leaves.find(({ column }) => column === leaf.within) : undefined
      const key = inMade ? `${leaf.column} with its object` : leaf.column
      return back.has(at, key, changeFrom(leaf, target.value(leaf), around))
    }
    undoValues(plan, target, { before, version }, { against, stray, isBack })
    for (const path of strayPaths(plan.type.fields, before.snapshot.state, version.snapshot.state))
      stray.add(path)
  }
  return amend(plan, now, target, { stray: [...stray], conflicts })
}

/** Deletes what was created, unless others have changed its values since. If it is deleted already, it stays so. */
function undoCreate(plan: Plan, target: Target, version: Version, against: (column: string) => void): void {
  if (target.deletion !== null) {
    target.values.clear()
    return
  }
  const { state } = version.snapshot
  for (const leaf of leavesOf(plan.type)) {
    const made = leaf.read(state)
    if (made !== undefined && !isKept(leaf) && !isEqual(target.value(leaf), made)) against(leaf.column)
  }
  target.values.clear()
  target.deletion = ITSELF
}

function undoDeletion(
  target: Target,
  { deletion: before }: Version,
  { deletion: after, operation }: Version,
  isBack: () => boolean,
): void {
  if (before === after) return
  if (before === null) target.deletedBy.add(operation)
  if (target.deletion === before || (after === null && target.deletion !== null)) return
  if (target.deletion !== after && isBack()) return
  target.deletion = before
}

function undoValues(
  plan: Plan,
  target: Target,
  {
    before: { snapshot: before },
    version: { snapshot: after, operation },
  }: Readonly<Record<'before' | 'version', Version>>,
  {
    against,
    stray,
    isBack,
  }: {
    against(column: string): void
    readonly stray: Set<string>
    isBack(leaf: Leaf, inMade: boolean): boolean
  },
): void {
  const made = new Set<string>()
  for (const leaf of leavesOf(plan.type)) {
    const [from, to] = [leaf.read(before.state), leaf.read(after.state)]
    if (from === undefined || to === undefined) continue
    if (leaf.isPresence && to !== null && from === null) made.add(leaf.column)
    // An object that was created is removed as a whole, so later changes inside of it are conflicts too.
    const inMade = leaf.within !== undefined && made.has(leaf.within)
    if (inMade && leaf.isPresence) made.add(leaf.column)
    if (!inMade && isEqual(from, to)) continue
    const value = target.value(leaf)
    if (isEqual(value, from)) continue
    if (!leaf.isPresence && !fitsLeaf(leaf, from, leaf.within === undefined)) stray.add(leaf.column)
    else if (!isEqual(value, to)) {
      if (isKept(leaf) || isBack(leaf, inMade)) continue
      against(leaf.column)
    }
    if (stray.has(leaf.column)) continue
    target.set(leaf, from, operation)
  }
}

/** Whether every update sets this value. Such a value is never a conflict, and is never set back. */
function isKept({ field }: Leaf): boolean {
  return providedOf(field).update !== undefined
}

/** Sets all values of a former state, as far as it has them; undefined if nothing would change. */
export function revertTo(plan: Plan, now: Now, former: State): Reversal | undefined {
  const target = new Target(now)
  for (const leaf of leavesOf(plan.type)) {
    const value = leaf.read(former)
    if (value !== undefined) target.set(leaf, value)
  }
  const reversal = amend(plan, now, target, { stray: strayPaths(plan.type.fields, former) })
  return reversal.columns.length === 0 ? undefined : reversal
}

/** Sets some values of an Entity, or deletes it. */
export function changeTo(plan: Plan, now: Now, change: 'delete' | ReadonlyMap<Leaf, unknown>): Reversal {
  const target = new Target(now)
  if (change !== 'delete') for (const [leaf, value] of change) target.set(leaf, value)
  else target.deletion ??= ITSELF
  return amend(plan, now, target)
}

/** Whether a reversal changes nothing. */
export function isEmpty({ amendment, columns }: Reversal): boolean {
  return columns.length === 0 && amendment.kind === 'update'
}

function amend(
  plan: Plan,
  now: Now,
  target: Target,
  {
    stray = [],
    conflicts = [],
  }: { readonly stray?: readonly string[]; readonly conflicts?: Conflict[] } = {},
): Reversal {
  const { id, version } = now
  const unmapped = [...stray]
  const set = fittingValues(plan, now, target, unmapped)
  const { columns, values } = bindLeaves(plan, set)
  // An Entity whose create is taken back and that is deleted already stays deleted as it is.
  const deletion = target.deletion === ITSELF ? (now.deletion ?? ITSELF) : target.deletion
  const kind = deletion === now.deletion ? 'update' : deletion === null ? 'restore' : 'delete'
  const amendment: Amendment = {
    id,
    version,
    kind,
    deletion: kind !== 'delete' || deletion === ITSELF || deletion === '' ? null : deletion,
    along: false,
    values,
  }
  return { plan, now, amendment, columns, conflicts, by: target.by, deletedBy: target.deletedBy, unmapped }
}

/** The values to set that differ from the present ones and fit today's declaration. Others go into `unmapped`. */
function fittingValues(
  plan: Plan,
  now: Now,
  target: Target,
  unmapped: string[],
): (readonly [Leaf, unknown])[] {
  if (target.values.size === 0) return []
  const leaves = leavesOf(plan.type)
  const state = now.snapshot.state
  const isThere = (column: string | undefined): boolean => {
    const around = leaves.find((leaf) => leaf.column === column)
    return around === undefined || target.value(around) !== null
  }
  const lost = new Set<string>()
  const set: (readonly [Leaf, unknown])[] = []
  const take = (leaf: Leaf, value: unknown) => {
    if (leaf.within !== undefined && lost.has(leaf.within)) return leaf.isPresence && lost.add(leaf.column)
    if (!target.values.has(leaf) || isEqual(leaf.read(state) ?? null, value)) return
    const can = leaf.isPresence
      ? value === null || canReturn(leaf, leaves, target)
      : fitsLeaf(leaf, value, isThere(leaf.within))
    if (can) return set.push([leaf, value])
    if (leaf.isPresence) lost.add(leaf.column)
    return unmapped.push(leaf.column)
  }
  for (const leaf of leaves) take(leaf, target.value(leaf))
  return set
}

/** Whether a missing object can come back: only with all of its required values. */
function canReturn(object: Leaf, leaves: readonly Leaf[], target: Target): boolean {
  return leaves
    .filter(({ within, field }) => within === object.column && isRequired(field))
    .every((leaf) => (target.value(leaf) ?? null) !== null && fitsLeaf(leaf, target.value(leaf), true))
}

function fitsLeaf({ field, isSecret }: Leaf, value: unknown, isThere: boolean): boolean {
  if (value === null) return field.optional || !isThere
  // A secret is a hash, which the field's check does not fit.
  if (isSecret) return true
  const errors: Errors = new Map()
  checkOf(field, 'whole')(field.kind === 'reference' ? { id: value } : value, field.path, errors)
  return errors.size === 0
}

/** The columns of these leaves and the columns derived from them, with the value to bind to each. */
export function bindLeaves(
  plan: Plan,
  set: readonly (readonly [Leaf, unknown])[],
): { readonly columns: string[]; readonly values: Bound[] } {
  if (set.length === 0) return { columns: [], values: [] }
  const params: Params = {}
  plan.bind(bodyOf(set), params)
  const names = new Set(set.map(([leaf]) => leaf.column))
  if (plan.login !== undefined && names.has('email') && typeof params.email === 'string')
    params[EMAIL_KEY] = emailKey(params.email)
  const beside = columnsBeside(plan.type).filter((name) =>
    name === EMAIL_KEY ? names.has('email') : [...names].some((one) => isDerivedFrom(one, name)),
  )
  // Columns inside of a removed object get `null`.
  const columns = [...names, ...beside]
  return { columns, values: columns.map((name) => params[name] ?? null) }
}

/** Groups the reversals that set the same columns of the same type. */
export function groupsOf(reversals: readonly Reversal[]): AmendmentGroup[] {
  const groups = new Map<string, Reversal[]>()
  for (const reversal of reversals) {
    const key = `${reversal.plan.type.name}|${reversal.columns.join('|')}`
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [reversal])
    else known.push(reversal)
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const amendments = group.map(({ amendment }) => amendment)
    return [{ type: first.plan.type, columns: first.columns, amendments }]
  })
}
