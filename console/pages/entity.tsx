import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type EntityData, get, type Page as ListPage, NotFound } from '../api.ts'
import { type EntityType, labelOf, nameOf, untitled, useEntityType } from '../model.ts'
import { useMoment } from '../moment.ts'
import { Button } from '../parts/button.tsx'
import { short } from '../parts/entity-name.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { TimeBar } from '../parts/time-bar.tsx'
import { isRemoved, markRemoved } from '../removed.ts'
import { useTexts } from '../texts/index.ts'
import { ActionSlot } from './entity/action-slot.ts'
import { EntityEditor } from './entity/editor.tsx'
import { PastEntity } from './entity/past.tsx'

export default function EntityPage({ entity, id }: { readonly entity: string; readonly id: number }) {
  const texts = useTexts()
  const type = useEntityType(entity)
  const [at] = useMoment()
  const { data, error, refetch, isPlaceholderData } = useEntity(type, id, at)
  const [slot, setSlot] = useState<HTMLElement | null>(null)
  if (type === undefined) return <Page title={entity}>{texts.errors.noType}</Page>
  const body = (): ReactNode => {
    if (error instanceof NotFound) return <NothingThere />
    if (error !== null && data === undefined) return <Failed error={error} retry={() => void refetch()} />
    // A placeholder may be read while the Entity loads, but not edited.
    if (data === undefined || (isPlaceholderData && at === undefined)) return <Loading />
    if (at !== undefined) return <PastEntity type={type} data={data} at={at} />
    return <EntityEditor type={type} data={data} />
  }
  // One page for all moments, so that the time bar stays in place while the user moves through them.
  return (
    <Page
      title={data === undefined || error instanceof NotFound ? untitled(type, id) : short(nameOf(type, data))}
      above={<Link href={`/${type.name}`}>{labelOf(type)}</Link>}
      actions={<div className="buttons" ref={setSlot} />}
      bar={<TimeBar entity={entity} id={id} />}
    >
      <ActionSlot.Provider value={slot}>{body()}</ActionSlot.Provider>
    </Page>
  )
}

function NothingThere() {
  const texts = useTexts()
  const [at, setMoment] = useMoment()
  if (at === undefined)
    return (
      <Empty icon="search" title={texts.entity.notFound}>
        {texts.entity.notFoundWhy}
      </Empty>
    )
  return (
    <Empty
      icon="clock"
      title={texts.history.notThen}
      action={<Button onClick={() => setMoment(undefined)}>{texts.history.now}</Button>}
    />
  )
}

/** Returns an Entity, live or deleted, now or as it was at a moment. */
function useEntity(type: EntityType | undefined, id: number, at: string | undefined) {
  return useQuery({
    queryKey: ['entity', type?.name ?? '', id, { at }],
    queryFn: async ({ signal }) => {
      const entity = type?.name ?? ''
      const mayBeTrash = at === undefined && type?.may.restore !== false
      const known = mayBeTrash && isRemoved(entity, id) ? await inTrash(entity, id, signal) : undefined
      if (known !== undefined) return known
      try {
        return await get<EntityData>(`${entity}/${id}/`, { at }, signal)
      } catch (error) {
        const deleted =
          mayBeTrash && error instanceof NotFound ? await inTrash(entity, id, signal) : undefined
        if (deleted === undefined) throw error
        return deleted
      }
    },
    enabled: type !== undefined,
    // Keeps the old state until the next one is loaded, so that nothing flickers.
    placeholderData: (before) => before,
  })
}

async function inTrash(entity: string, id: number, signal: AbortSignal): Promise<EntityData | undefined> {
  const query = { trashed: 'only', filter: `id == ${id}` }
  const [deleted] = (await get<ListPage<EntityData>>(`${entity}/`, query, signal)).data
  if (deleted !== undefined) markRemoved(entity, id)
  return deleted
}
