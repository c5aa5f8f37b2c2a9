import { lazy, Suspense } from 'react'
import { labelOf } from '../../model.ts'
import { Menu } from '../../parts/menu.tsx'
import { usePreferences } from '../../preferences.ts'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'
import { writeView } from './view.ts'

const Views = lazy(() => import('./views.tsx'))

/** The views of a list that the user has saved. */
export function ViewsMenu({ type, view, columns: { own } }: Pick<ListPart, 'type' | 'view' | 'columns'>) {
  const texts = useTexts()
  const preferences = usePreferences()
  const { at: _, go: __, ...kept } = view
  const address = writeView(kept)
  // With the current columns, so that the view stays as it was saved.
  const query = writeView({ ...(own !== undefined && { columns: own }), ...kept })
  const views = preferences?.views?.[type.name] ?? []
  const current = views.find((one) => one.query === query || one.query === address)
  if (preferences === null) return null
  return (
    <Menu label={current?.name ?? texts.list.views} icon="eye" tone="plain" group={labelOf(type)}>
      {(close) => (
        <Suspense>
          <Views entity={type.name} {...{ views, current, query, close }} isEverything={address === ''} />
        </Suspense>
      )}
    </Menu>
  )
}
