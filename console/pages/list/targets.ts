import { type EntityData, get, type Json, type Page } from '../../api.ts'
import { valueAt } from '../../model.ts'

/** The references among the columns: by dot path, the type they refer to and the fields that name it. */
export type Targets = Readonly<Record<string, { readonly to: string; readonly named: readonly string[] }>>

const AT_ONCE = 90

/** Adds today's titles to references of the past, which cannot be expanded. A deleted target keeps its id. */
export async function nameTargets(
  rows: readonly EntityData[],
  targets: Targets,
  signal?: AbortSignal,
): Promise<readonly EntityData[]> {
  const named = new Map<string, Json>()
  const types = new Set(Object.values(targets).map(({ to }) => to))
  for (const to of types) {
    const paths = Object.keys(targets).filter((path) => targets[path]?.to === to)
    const fields = ['id', ...(Object.values(targets).find((one) => one.to === to)?.named ?? [])]
    const ids = new Set(rows.flatMap((row) => paths.flatMap((path) => idAt(row, path))))
    await readNames({ to, fields, ids: [...ids], named }, signal)
  }
  return rows.map((row) => withNames(row, targets, named))
}

interface NamesQuery {
  readonly to: string
  readonly fields: readonly string[]
  readonly ids: readonly number[]
  readonly named: Map<string, Json>
}

async function readNames({ to, fields, ids, named }: NamesQuery, signal?: AbortSignal): Promise<void> {
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const filter = `id in [${ids.slice(at, at + AT_ONCE).join(', ')}]`
    try {
      const { data } = await get<Page<EntityData>>(
        `${to}/`,
        { filter, fields: fields.join(','), limit: AT_ONCE },
        signal,
      )
      for (const one of data) named.set(`${to}/${one.id}`, one)
    } catch {
      // The references keep their ids: `rooms/5` is good enough.
      return
    }
  }
}

function idAt(row: EntityData, path: string): number[] {
  const id = valueAt(row, `${path}.id`)
  return typeof id === 'number' ? [id] : []
}

function withNames(row: EntityData, targets: Targets, named: ReadonlyMap<string, Json>): EntityData {
  const after = structuredClone(row)
  for (const [path, { to }] of Object.entries(targets)) {
    const value = valueAt(after, path)
    const found = named.get(`${to}/${valueAt(value, 'id')}`)
    if (found !== undefined && typeof value === 'object' && value !== null) Object.assign(value, found)
  }
  return after
}
