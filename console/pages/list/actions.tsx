import { Link } from 'wouter'
import { Icon } from '../../parts/icon.tsx'
import { Keys } from '../../parts/keys.tsx'
import { useTexts } from '../../texts/index.ts'
import type { ListPart } from './list-part.ts'

/** At the right of the title. */
export function ListActions({ type, view }: ListPart) {
  const texts = useTexts()
  return (
    type.may.create !== false &&
    view.at === undefined && (
      <Link className="button main" href={`/${type.name}/new`}>
        <Icon name="plus" />
        {texts.list.create}
        <Keys keys="c" />
      </Link>
    )
  )
}
