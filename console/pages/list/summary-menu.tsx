import { lazy, Suspense } from 'react'
import { labelOf } from '../../model.ts'
import { Menu } from '../../parts/menu.tsx'
import { Loading } from '../../parts/states.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'

const Summary = lazy(() => import('./summary.tsx'))

export function SummaryMenu(part: ListPart) {
  const texts = useTexts()
  return (
    <Menu label={texts.list.summary} icon="diagram" tone="plain" isSmall isWide group={labelOf(part.type)}>
      {() => (
        <Suspense fallback={<Loading />}>
          <Summary {...part} />
        </Suspense>
      )}
    </Menu>
  )
}
