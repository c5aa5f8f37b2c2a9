import { isRecord } from '../declare/record.ts'
import { convertedValue, type MigrationStep, type StepChange } from '../store/migration/steps.ts'
import type { State } from './leaves.ts'

/** The effect of one migration on an Entity. */
export interface Migrated {
  readonly operation: string
  readonly at: string
  readonly before: State
  readonly after: State
}

/**
 * Reads former versions of one Entity type in today's form. Two versions on either side of a migration then differ only
 * by what somebody changed, not by what the migration did.
 */
export class Upcaster {
  readonly #steps: readonly MigrationStep[]

  constructor(steps: readonly MigrationStep[]) {
    this.#steps = steps
  }

  /** Whether the reading of a version depends on its time. */
  get readsByTime(): boolean {
    return this.#steps.some(({ change }) => dependsOnTime(change))
  }

  /** An upcaster that does not add fields that came after a version. */
  get ofKnown(): Upcaster {
    return new Upcaster(this.#steps.filter(({ change }) => change.kind !== 'add'))
  }

  upcast(state: State): State {
    return this.#steps.reduce(applied, state)
  }

  /** A version in today's form, without the values that migrations after this time filled in. */
  upcastAsOf(time: string, state: State): State {
    const known = this.#steps.filter(
      ({ change: { kind }, at }) => at <= time || (kind !== 'add' && kind !== 'fill'),
    )
    return known.reduce(applied, state)
  }

  /** The effects of migrations on a version until the next version, oldest first. */
  since(state: State, until = '~'): Migrated[] {
    const migrated: Migrated[] = []
    let after = state
    for (const step of this.#steps) {
      const before = after
      after = applied(before, step)
      if (after === before || step.at <= String(state.updated_at) || step.at > until) continue
      const last = migrated.at(-1)
      if (last?.operation === step.operation) migrated[migrated.length - 1] = { ...last, after }
      else migrated.push({ operation: step.operation, at: step.at, before, after })
    }
    return migrated
  }
}

export const noUpcasts = new Upcaster([])

/** The upcaster of an Entity type, by its name. */
export type UpcasterOf = (entity: string) => Upcaster

export function upcastersOf(steps: readonly MigrationStep[]): UpcasterOf {
  const known = new Map<string, MigrationStep[]>()
  for (const step of steps) {
    const same = known.get(step.entity)
    if (same === undefined) known.set(step.entity, [step])
    else same.push(step)
  }
  const made = new Map([...known].map(([entity, same]) => [entity, new Upcaster(same)]))
  return (entity) => made.get(entity) ?? noUpcasts
}

function applied(state: State, { path, at, change }: MigrationStep): State {
  if (dependsOnTime(change) && isLater(String(state.updated_at), at, change.ahead)) return state
  return changeAt(state, path.split('.'), change)
}

/**
 * Whether a change must not be applied to later versions: once a value is optional, they may be without it again, and
 * once a decimal is a text, they may have any digits.
 */
function dependsOnTime(change: StepChange): change is Extract<StepChange, { ahead?: string }> {
  return change.kind === 'fill' || (change.kind === 'convert' && change.to === 'decimal')
}

/** Whether a version is later than a migration. If a fast clock may have made its time, it counts as earlier. */
function isLater(time: string, at: string, ahead: string | undefined): boolean {
  return time >= at && (ahead === undefined || time > ahead)
}

function changeAt(state: State, [name = '', ...rest]: readonly string[], change: StepChange): State {
  const value = Object.hasOwn(state, name) ? state[name] : undefined
  if (rest.length === 0) {
    const made = changed(value, change)
    return made === value ? state : { ...state, [name]: made }
  }
  // If an optional object was missing, its fields were too.
  if (value !== undefined && !isRecord(value)) return state
  const before = isRecord(value) ? value : {}
  const inner = changeAt(before, rest, change)
  return inner === before ? state : { ...state, [name]: inner }
}

/** `undefined` means that the version does not contain the value. */
function changed(value: unknown, change: StepChange): unknown {
  if (change.kind === 'aside') return value
  if (change.kind === 'add') return value === undefined ? change.value : value
  if (change.kind === 'fill') return value === null ? change.value : value
  return convertedValue(value, change)
}
