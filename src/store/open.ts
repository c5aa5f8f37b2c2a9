import { existsSync } from 'node:fs'
import { StartError } from '../errors.ts'
import type { Location } from './location.ts'
import type { Store } from './store.ts'

/** Opens the Store of a location. `onLost` is called when it is no longer certain what is on disk. */
export async function openStore(
  location: Location,
  { onLost = () => {}, mustExist = false }: { onLost?: (error: unknown) => void; mustExist?: boolean } = {},
): Promise<Store> {
  if (location.kind === 'postgres') {
    const { PostgresStore } = await import('./postgres/store.ts')
    return PostgresStore.open(location)
  }
  if (mustExist && !existsSync(location.path)) throw new StartError(`There is no ${location.path}.`)
  const { SqliteStore } = await import('./sqlite/store.ts')
  return new SqliteStore(location.path, location.statementMs, onLost)
}
