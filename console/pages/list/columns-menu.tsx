import { lazy, Suspense } from 'react'
import { Menu } from '../../parts/menu.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ChosenColumns } from './use-columns.ts'

const ColumnsChoice = lazy(() => import('./columns-choice.tsx'))

/** Which columns there are, and in which order. */
export function ColumnsMenu({ columns }: { readonly columns: ChosenColumns }) {
  const texts = useTexts()
  return (
    <Menu label={texts.list.columns} icon="columns" tone="plain" isSmall>
      {() => (
        <Suspense>
          <ColumnsChoice columns={columns} />
        </Suspense>
      )}
    </Menu>
  )
}
