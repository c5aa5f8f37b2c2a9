import { lazy, Suspense } from 'react'
import { labelOf } from '../../model.ts'
import { Menu } from '../../parts/menu.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'

const ColumnsChoice = lazy(() => import('./columns-choice.tsx'))

/** The menu that chooses columns and their order. */
export function ColumnsMenu({ type, columns }: Pick<ListPart, 'type' | 'columns'>) {
  const texts = useTexts()
  return (
    <Menu label={texts.list.columns} icon="columns" tone="plain" isSmall group={labelOf(type)}>
      {() => (
        <Suspense>
          <ColumnsChoice columns={columns} />
        </Suspense>
      )}
    </Menu>
  )
}
