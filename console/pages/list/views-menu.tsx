import { lazy, Suspense } from 'react'
import { labelOf } from '../../model.ts'
import { Menu } from '../../parts/menu.tsx'
import { usePreferences } from '../../preferences.ts'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'
import { writeView } from './view.ts'

const Views = lazy(() => import('./views.tsx'))

/** The views that a person has kept of a list. */
export function ViewsMenu({ type, view }: Pick<ListPart, 'type' | 'view'>) {
  const texts = useTexts()
  const preferences = usePreferences()
  const { at: _, ...kept } = view
  const query = writeView(kept)
  const views = preferences?.views?.[type.name] ?? []
  const current = views.find((one) => one.query === query)
  if (preferences === null) return null
  return (
    <Menu label={current?.name ?? texts.list.views} icon="eye" tone="plain" group={labelOf(type)}>
      {(close) => (
        <Suspense>
          <Views entity={type.name} views={views} query={query} close={close} />
        </Suspense>
      )}
    </Menu>
  )
}
