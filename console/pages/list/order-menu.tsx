import { lazy, Suspense } from 'react'
import { labelOf } from '../../model.ts'
import { Menu } from '../../parts/menu.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'

const OrderChoice = lazy(() => import('./order-choice.tsx'))

/** The menu to sort a list, and to go to a place in it. */
export function OrderMenu(part: ListPart) {
  const texts = useTexts()
  return (
    <span data-order>
      <Menu label={texts.list.order} icon="sort" tone="plain" isSmall group={labelOf(part.type)}>
        {(close) => (
          <Suspense>
            <OrderChoice {...part} close={close} />
          </Suspense>
        )}
      </Menu>
    </span>
  )
}
