import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import { type EntityData, get, type Page } from '../../api.ts'
import { formatNumber } from '../../format.ts'
import type { EntityType } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Empty, Loading } from '../../parts/states.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'

const FirstCall = lazy(() => import('./first-call.tsx'))

/** Shown in place of rows: nothing matches, or there is nothing yet. */
export function Nothing({ type, view, change }: ListPart) {
  const texts = useTexts()
  if (view.filter !== undefined || view.search !== undefined)
    return (
      <Empty
        icon="filter"
        title={texts.list.noMatch}
        action={
          <Button onClick={() => change({ filter: undefined, search: undefined })}>
            {texts.list.clearFilters}
          </Button>
        }
      >
        {texts.list.noMatchHint}
      </Empty>
    )
  if (view.trashed !== undefined) return <Empty icon="trash" title={texts.list.noneDeleted} />
  if (view.at !== undefined) return <Empty icon="clock" title={texts.list.noneThen} />
  return <NoneAtAll type={type} />
}

/** There never was an Entity, or all of them are deleted. */
function NoneAtAll({ type }: { readonly type: EntityType }) {
  const texts = useTexts()
  const { data, isLoading } = useQuery({
    queryKey: ['list', type.name, 'deleted'],
    queryFn: ({ signal }) =>
      get<Page<EntityData>>(`${type.name}/`, { trashed: 'only', count: 1, limit: 1, fields: 'id' }, signal),
    enabled: type.may.restore !== false,
  })
  const deleted = data?.total ?? 0
  if (isLoading) return <Loading />
  if (deleted > 0)
    return (
      <Empty
        icon="trash"
        title={texts.list.allDeleted}
        action={
          <Link className="button" href={`/${type.name}?trashed=only`}>
            {texts.list.inTrash(formatNumber(deleted))}
          </Link>
        }
      >
        {texts.list.allDeletedHint}
      </Empty>
    )
  return <First type={type} />
}

function First({ type }: { readonly type: EntityType }) {
  const texts = useTexts()
  return (
    <Empty
      icon="table"
      title={texts.list.empty}
      action={
        type.may.create !== false && (
          <>
            <Link className="button main" href={`/${type.name}/new`}>
              {texts.list.createFirst}
            </Link>
            <Suspense>
              <FirstCall type={type} />
            </Suspense>
          </>
        )
      }
    >
      {texts.list.emptyHint}
    </Empty>
  )
}
