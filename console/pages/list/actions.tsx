import { Link } from 'wouter'
import { listCall } from '../../parts/api-call.ts'
import { ApiCode } from '../../parts/api-code.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Keys } from '../../parts/keys.tsx'
import { useTexts } from '../../texts/index.ts'
import { ExportMenu } from './export-menu.tsx'
import type { ListPart } from './list-part.ts'

/** The buttons at the right of the title. */
export function ListActions(part: ListPart) {
  const { type, view } = part
  const texts = useTexts()
  return (
    <>
      <ExportMenu {...part} isSelected={false} />
      <ApiCode call={callOf(part)} />
      {type.may.create !== false && view.at === undefined && (
        <Link className="button main" href={`/${type.name}/new`}>
          <Icon name="plus" />
          {texts.list.create}
          <Keys keys="c" />
        </Link>
      )}
    </>
  )
}

/** Returns the API call for this page: `fields` only if the user chose columns, and `expand` without its options. */
export function callOf({ type, request, columns }: Pick<ListPart, 'type' | 'request' | 'columns'>) {
  const { fields, expand, ...query } = request.query
  return listCall(type.name, {
    ...query,
    ...(!columns.isDefault && { fields }),
    ...(expand !== undefined && { expand: expand.replace(/\([^)]*\)/g, '') }),
  })
}
