import { touchedColumns } from '../plan/past/operations.ts'
import type { Row } from '../store/dialect.ts'
import { SECRETS, type Secrets, type State } from './leaves.ts'
import { noUpcasts, type Upcaster, type UpcasterOf } from './upcast.ts'

/** The name of the deletion in conflicts and differences. */
export const DELETED = 'deleted_at'

/** An Entity as it stood, from its JSON. Parsed only when needed: there may be a hundred thousand of them. */
export class Snapshot {
  readonly #text: string
  readonly #upcaster: Upcaster
  readonly secrets: Secrets | undefined
  #state: State | undefined

  /** Read in today's form where an upcaster of its type is given. */
  constructor(text: string, secrets?: Secrets, upcaster = noUpcasts) {
    this.#text = text
    this.#upcaster = upcaster
    this.secrets = secrets
  }

  /** The same, with what its secrets were. */
  withSecrets(secrets: Secrets): Snapshot {
    return new Snapshot(this.#text, secrets, this.#upcaster)
  }

  get state(): State {
    this.#state ??= {
      ...this.#upcaster.upcast(JSON.parse(this.#text) as State),
      ...(this.secrets !== undefined && { [SECRETS]: this.secrets }),
    }
    return this.#state
  }

  get isDeleted(): boolean {
    const tail = this.#tail()
    return tail === undefined ? this.state.deleted_at != null : !this.#text.endsWith(':null}')
  }

  /** Whether both have the same values for certain: a deletion or a restore changes none. */
  hasSameValues(other: Snapshot): boolean {
    if (this.secrets !== undefined && !Bun.deepEquals(this.secrets, other.secrets)) return false
    if (this.#upcaster.fills) return false
    const [own, theirs] = [this.#tail(), other.#tail()]
    return (
      own !== undefined && theirs !== undefined && this.#text.slice(0, own) === other.#text.slice(0, theirs)
    )
  }

  /** Where the declared values end and the common ones begin; undefined if the text does not show it. */
  #tail(): number | undefined {
    const at = this.#text.lastIndexOf(',"version":')
    TAIL.lastIndex = at
    return at > 0 && TAIL.test(this.#text) ? at : undefined
  }
}

const TAIL = /,"version":\d+,"created_at":"[^"]*","updated_at":"[^"]*","deleted_at":(?:null|"[^"]*")\}$/y

/** A version of an Entity, as the journal has it. */
export interface Version {
  readonly version: number
  readonly operation: string
  /** Made by one of the operations that are taken back. */
  readonly undone: boolean
  /** The operation that had deleted it; `null` where it was there. */
  readonly deletion: string | null
  readonly snapshot: Snapshot
}

/** All that is known of one Entity that operations have touched. */
export interface Touched {
  readonly entity: string
  readonly id: number
  /** Newest first: those that the operations made, and the one before each. */
  readonly versions: readonly Version[]
  /** Why it cannot be taken back, if so. */
  readonly lost: string | undefined
}

/** From the rows that `touched` finds. */
export function touchedBy(rows: readonly Row[], upcasterOf: UpcasterOf): Touched[] {
  const all: Touched[] = []
  let same: TouchedRow[] = []
  for (const row of rows) {
    const version = touchedColumns.read(row)
    const [first] = same
    if (first !== undefined && (first.entity !== version.entity || first.id !== version.id)) {
      all.push(touchedOf(same, upcasterOf))
      same = []
    }
    same.push(version)
  }
  if (same.length > 0) all.push(touchedOf(same, upcasterOf))
  return all
}

type TouchedRow = ReturnType<typeof touchedColumns.read>

function touchedOf(rows: readonly TouchedRow[], upcasterOf: UpcasterOf): Touched {
  const { entity, id } = rows[0] ?? {}
  const versions = rows.flatMap(({ version, kind, operation, deletion, data, made }): Version[] => {
    if (data === null) return []
    const snapshot = new Snapshot(String(data), undefined, upcasterOf(String(entity)))
    const by = deletionAt(snapshot, kind === 'delete' ? operation : null, deletion)
    return [
      {
        version: Number(version),
        operation: String(operation),
        undone: Number(made) === 1,
        deletion: by,
        snapshot,
      },
    ]
  })
  const isKept = rows.length === versions.length && hasAllBefore(versions)
  const lost = rows.some(({ kind }) => kind === 'purge')
    ? 'was purged and cannot be restored'
    : isKept
      ? undefined
      : 'has a history that is no longer kept'
  return { entity: String(entity), id: Number(id), versions, lost }
}

/** Old journals have the operation of a deletion only in the row of the deletion itself. */
export function deletionAt(snapshot: Snapshot, own: unknown, told: unknown): string | null {
  if (!snapshot.isDeleted) return null
  return String(told ?? own ?? '')
}

/** Whether the version before each undone one is known too. */
function hasAllBefore(versions: readonly Version[]): boolean {
  return versions.every(
    ({ undone, version }, at) => !undone || version === 1 || versions[at + 1]?.version === version - 1,
  )
}
