import { touchedColumns } from '../plan/past/operations.ts'
import type { Row } from '../store/dialect.ts'
import { SECRETS, type Secrets, type State } from './leaves.ts'
import { noUpcasts, type Upcaster, type UpcasterOf } from './upcast.ts'

/** The name of a deletion in conflicts and differences. */
export const DELETED = 'deleted_at'

/** The state of an Entity at a version. The JSON is parsed only when needed: there may be 100,000 of them. */
export class Snapshot {
  readonly #text: string
  readonly #upcaster: Upcaster
  readonly secrets: Secrets | undefined
  #state: State | undefined

  /** With an upcaster of its type, it is read in today's form. */
  constructor(text: string, secrets?: Secrets, upcaster = noUpcasts) {
    this.#text = text
    this.#upcaster = upcaster
    this.secrets = secrets
  }

  /** The same snapshot, with the secrets of that time. */
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

  /** Whether both surely have the same values, as before and after a deletion or a restore. */
  hasSameValues(other: Snapshot): boolean {
    if (this.secrets !== undefined && !Bun.deepEquals(this.secrets, other.secrets)) return false
    if (this.#upcaster.readsByTime) return false
    const [own, theirs] = [this.#tail(), other.#tail()]
    return (
      own !== undefined && theirs !== undefined && this.#text.slice(0, own) === other.#text.slice(0, theirs)
    )
  }

  /** Where the declared values end and the server's own begin; undefined if the text does not show it. */
  #tail(): number | undefined {
    const at = this.#text.lastIndexOf(',"version":')
    TAIL.lastIndex = at
    return at > 0 && TAIL.test(this.#text) ? at : undefined
  }
}

const TAIL = /,"version":\d+,"created_at":"[^"]*","updated_at":"[^"]*","deleted_at":(?:null|"[^"]*")\}$/y

/** A version of an Entity in the journal. */
export interface Version {
  readonly version: number
  readonly operation: string
  /** Whether one of the undone operations made it. */
  readonly undone: boolean
  /** The operation that had deleted it; `null` if it was live. */
  readonly deletion: string | null
  readonly snapshot: Snapshot
}

/** One Entity that the undone operations touched. */
export interface Touched {
  readonly entity: string
  readonly id: number
  /** Newest first: the versions that the operations made, and the one before each. */
  readonly versions: readonly Version[]
  /** Why it cannot be taken back, if it cannot. */
  readonly lost: string | undefined
}

/** Groups the rows that `touched` finds by Entity. */
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

/** The operation of a deletion. In old journals only the row of the deletion itself has it. */
export function deletionAt(snapshot: Snapshot, own: unknown, recorded: unknown): string | null {
  if (!snapshot.isDeleted) return null
  return String(recorded ?? own ?? '')
}

/** Whether the version before each undone one is also known. */
function hasAllBefore(versions: readonly Version[]): boolean {
  return versions.every(
    ({ undone, version }, at) => !undone || version === 1 || versions[at + 1]?.version === version - 1,
  )
}
