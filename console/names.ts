import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from './api.ts'
import { type EntityType, nameOf, untitled, useModel } from './model.ts'

/** The name of an Entity, and whether it is in the trash. */
export interface EntityName {
  readonly name: string
  readonly isDeleted: boolean
}

interface NameOptions {
  /** Whether the type is shown beside it. */
  readonly isBeside?: boolean
}

interface PendingName {
  readonly type: EntityType
  readonly id: number
  answer(name: EntityName | null): void
}

const GATHER_MS = 10
const MOST = 100
let pending: PendingName[] = []

/** Reads the names that are needed at about the same time together, with one call per type. */
function loadName(type: EntityType, id: number): Promise<EntityName | null> {
  return new Promise((answer) => {
    if (pending.push({ type, id, answer }) === 1) setTimeout(readPending, GATHER_MS)
  })
}

function readPending(): void {
  const byType = Map.groupBy(pending, ({ type }) => type)
  pending = []
  for (const [type, all] of byType)
    for (let at = 0; at < all.length; at += MOST) void readNames(type, all.slice(at, at + MOST))
}

/** If the user may not read them, ids are shown instead. */
async function readNames(type: EntityType, all: readonly PendingName[]): Promise<void> {
  const ids = [...new Set(all.map(({ id }) => id))]
  const query = {
    filter: `id in [${ids.join(', ')}]`,
    fields: ['id', 'deleted_at', ...namingFields(type)],
    limit: MOST,
    ...(type.may.restore !== false && { trashed: 'with' }),
  }
  const page = await get<Page<EntityData>>(`${type.name}/`, query).catch(() => undefined)
  const found = new Map(page?.data.map((one) => [one.id, one]))
  for (const { id, answer } of all) {
    const data = found.get(id)
    const isDeleted = data?.deleted_at !== null && data?.deleted_at !== undefined
    answer(data === undefined ? null : { name: nameOf(type, data), isDeleted })
  }
}

/** Returns the fields that `nameOf` reads. */
export function namingFields({ title, login, fields }: EntityType): readonly string[] {
  const named = title === null ? [] : [title]
  const email = login === null || title === 'email' ? undefined : fields.find(({ path }) => path === 'email')
  return email === undefined || email.may?.read === false ? named : [...named, 'email']
}

/** Returns the name of an Entity; `Rooms #5` until it is known, or if the user may not see it. */
export function useName(entity: string, id: number | null, { isBeside }: NameOptions = {}): EntityName {
  const type = useModel().entities.find(({ name }) => name === entity)
  const { data } = useQuery({
    queryKey: ['entity', entity, id, 'title'],
    queryFn: () => (type === undefined || id === null ? null : loadName(type, id)),
    enabled: type !== undefined && id !== null,
    staleTime: 60_000,
  })
  if (id === null) return { name: entity, isDeleted: false }
  const number = untitled(type, id)
  const { name, isDeleted } = data ?? { name: number, isDeleted: false }
  return { name: isBeside && name === number ? untitled(type, id, true) : name, isDeleted }
}
