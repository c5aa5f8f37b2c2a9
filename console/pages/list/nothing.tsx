import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/states.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'

const FirstCall = lazy(() => import('./first-call.tsx'))

/** Where a list has no rows: because nothing matches, or because nothing is there yet. */
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
