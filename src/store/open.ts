import type { Location } from './location.ts'
import { PostgresStore } from './postgres/store.ts'
import { SqliteStore } from './sqlite/store.ts'
import type { Store } from './store.ts'

/** The Store of a place. `onLost` is called when nobody can know any more what is on disk. */
export async function openStore(
  location: Location,
  onLost: (error: unknown) => void = () => {},
): Promise<Store> {
  return location.kind === 'sqlite' ? new SqliteStore(location.path, onLost) : PostgresStore.open(location)
}
