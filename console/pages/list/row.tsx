import { memo } from 'react'
import type { EntityData } from '../../api.ts'
import { type EntityType, nameOf, valueAt } from '../../model.ts'
import { CellLink, isNumeric, Value } from '../../parts/value.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Column } from './columns.ts'

export interface RowProps {
  readonly type: EntityType
  readonly row: EntityData
  readonly columns: readonly Column[]
  /** The place in the whole list; undefined if it is not known. */
  readonly index: number | undefined
  readonly isSelected: boolean
  readonly isCurrent: boolean
  readonly isChanged: boolean
  /** The address of the Entity's page. */
  readonly href: string
  readonly isCard: boolean
  onToggle(id: number, range: boolean): void
}

/** One row. Memoized, because hundreds pass by while the user scrolls. */
export const Row = memo(function Row(props: RowProps) {
  const { row, index, isSelected, isCurrent, isChanged } = props
  return (
    <tr
      id={`row-${row.id}`}
      data-id={row.id}
      aria-rowindex={index === undefined ? undefined : index + 2}
      aria-selected={isSelected}
      className={`${isCurrent ? 'current' : ''} ${isChanged ? 'glowing' : ''}`}
    >
      <Tick {...props} />
      {props.isCard ? <Card {...props} /> : <Cells {...props} />}
    </tr>
  )
})

function Tick({ type, row, isSelected, onToggle }: RowProps) {
  const texts = useTexts()
  return (
    <td className="tick">
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={texts.list.select(nameOf(type, row))}
        checked={isSelected}
        onChange={(event) =>
          onToggle(row.id, event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)
        }
      />
    </td>
  )
}

function Cells({ type, row, columns, href }: RowProps) {
  return (
    <>
      {columns.map(({ path, field }, at) => (
        <td key={path} className={isNumeric(field) ? 'number' : undefined}>
          {at === 0 ? (
            <CellLink className="value title" to={href}>
              {path === type.title ? (
                nameOf(type, row)
              ) : (
                <First field={field} value={valueAt(row, path)} row={row} />
              )}
            </CellLink>
          ) : (
            <Value field={field} value={valueAt(row, path)} />
          )}
        </td>
      ))}
      <td className="rest" />
    </>
  )
}

/** The first cell is the link to the Entity, so it must contain no other link. */
function First({
  field,
  value,
  row,
}: {
  readonly field: Column['field']
  readonly value: unknown
  readonly row: EntityData
}) {
  if (
    field.type === 'ref' ||
    field.type === 'list' ||
    field.type === 'url' ||
    value === null ||
    value === undefined
  )
    return String(row.id)
  return <Value field={field} value={value} />
}

function isTime(path: string): boolean {
  return path === 'updated_at' || path === 'deleted_at'
}

/** A row on a phone: the name and when it was changed, with the first values below. */
function Card({ type, row, columns, href }: RowProps) {
  const shown = columns
    .filter(({ path }) => path !== type.title && path !== 'id' && !isTime(path))
    .slice(0, 3)
  // For a deleted Entity, the time of its deletion.
  const at = row.deleted_at ?? row.updated_at
  return (
    <td className="as-card">
      <div className="first-line">
        <CellLink className="value title" to={href}>
          {nameOf(type, row)}
        </CellLink>
        {typeof at === 'string' && <When at={at} />}
      </div>
      <div className="below">
        {shown.map(({ path, label, field }) => (
          <span key={path}>
            {(isNumeric(field) || field.type === 'boolean') && `${label} `}
            <Value field={field} value={valueAt(row, path)} />
          </span>
        ))}
      </div>
    </td>
  )
}
