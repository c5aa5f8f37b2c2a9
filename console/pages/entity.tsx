import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type EntityData, get, type Page as ListPage, NotFound } from '../api.ts'
import { type EntityType, labelOf, useEntityType } from '../model.ts'
import { useMoment } from '../moment.ts'
import { Page } from '../parts/page.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { useTexts } from '../texts/index.ts'
import { EntityEditor } from './entity/editor.tsx'
import { PastEntity } from './entity/past.tsx'

export default function EntityPage({ entity, id }: { readonly entity: string; readonly id: number }) {
  const texts = useTexts()
  const type = useEntityType(entity)
  const [at] = useMoment()
  const { data, error, refetch } = useEntity(type, id, at)
  if (type === undefined) return <Page title={entity}>{texts.errors.noType}</Page>
  if (error instanceof NotFound)
    return (
      <Page title={`${entity}/${id}`} above={<Link href={`/${entity}`}>{labelOf(type)}</Link>}>
        <Empty icon="search" title={texts.entity.notFound}>
          {texts.entity.notFoundWhy}
        </Empty>
      </Page>
    )
  if (error !== null && data === undefined) return <Failed error={error} retry={() => void refetch()} />
  if (data === undefined) return <Loading />
  if (at !== undefined) return <PastEntity type={type} data={data} at={at} />
  return <EntityEditor key={id} type={type} data={data} />
}

/** An Entity, live or deleted; or as it was. */
function useEntity(type: EntityType | undefined, id: number, at: string | undefined) {
  return useQuery({
    queryKey: ['entity', type?.name ?? '', id, { at }],
    queryFn: async ({ signal }) => {
      const entity = type?.name ?? ''
      try {
        return await get<EntityData>(`${entity}/${id}/`, { at }, signal)
      } catch (error) {
        const mayBeTrash = at === undefined && type?.may.restore !== false && error instanceof NotFound
        if (!mayBeTrash) throw error
        const query = { trashed: 'only', filter: `id == ${id}` }
        const [deleted] = (await get<ListPage<EntityData>>(`${entity}/`, query, signal)).data
        if (deleted === undefined) throw error
        return deleted
      }
    },
    enabled: type !== undefined,
  })
}
