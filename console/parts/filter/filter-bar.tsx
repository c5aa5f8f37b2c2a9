import { lazy, Suspense, useState } from 'react'
import { formatNumber } from '../../format.ts'
import { type EntityType, labelOf } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'
import { Button } from '../button.tsx'
import { Menu } from '../menu.tsx'
import { textOf } from '../value.tsx'
import { type Condition, celOf, type FilterField, needsValue } from './conditions.ts'
import { conditionsOf } from './read-cel.ts'
import { ReferenceNames } from './reference-names.tsx'

// Loaded when needed: most lists are only read.
const FilterText = lazy(() => import('./filter-text.tsx'))
const EditCondition = lazy(() => import('./edit-condition.tsx'))

interface FilterBarProps {
  readonly type: EntityType
  readonly fields: readonly FilterField[]
  readonly filter: string | undefined
  /** Whether the API rejects the filter. The text input shows where it is wrong. */
  readonly isWrong: boolean
  onChange(filter: string | undefined): void
}

/** The filter of a list: as chips that can be clicked, or as text. */
export function FilterBar({ type, fields, filter, isWrong, onChange }: FilterBarProps) {
  const texts = useTexts()
  const conditions = conditionsOf(filter ?? '', fields)
  const canClick = conditions !== undefined && !isWrong
  const [isText, setText] = useState(!canClick)
  const [isAsked, setAsked] = useState(false)
  const change = (next: readonly Condition[]) => onChange(celOf(next, fields))
  if (isText || !canClick)
    return (
      <div className="filter-text">
        <Suspense>
          <FilterText type={type} filter={filter} autoFocus={isAsked} onChange={onChange} />
        </Suspense>
        <Button tone="plain" icon="filter" disabled={!canClick} onClick={() => setText(false)}>
          {texts.list.byClicking}
        </Button>
      </div>
    )
  return (
    <>
      {conditions.map((condition, at) => (
        <Chip
          // biome-ignore lint/suspicious/noArrayIndexKey: the same condition can stand there twice.
          key={at}
          condition={condition}
          fields={fields}
          onChange={(next) => change(conditions.map((one, place) => (place === at ? next : one)))}
          onRemove={() => change(conditions.filter((_, place) => place !== at))}
        />
      ))}
      <span data-filter>
        <Menu label={texts.list.filter} icon="filter" tone="plain" group={labelOf(type)}>
          {(close) => (
            <Suspense>
              <EditCondition
                fields={fields}
                onDone={(made) => {
                  close()
                  change([...conditions, made])
                }}
              />
            </Suspense>
          )}
        </Menu>
      </span>
      <Button
        tone="plain"
        icon="edit"
        aria-label={texts.list.asText}
        onClick={() => {
          setText(true)
          setAsked(true)
        }}
      />
    </>
  )
}

interface ChipProps {
  readonly condition: Condition
  readonly fields: readonly FilterField[]
  onChange(condition: Condition): void
  onRemove(): void
}

function Chip({ condition, fields, onChange, onRemove }: ChipProps) {
  const texts = useTexts()
  const known = fields.find(({ path }) => path === condition.path)
  const label = useConditionText(condition, known)
  if (known === undefined) return null
  return (
    <span className="filter-chip">
      <Menu label={label} tone="plain">
        {(close) => (
          <Suspense>
            <EditCondition
              fields={fields}
              condition={condition}
              onDone={(next) => {
                close()
                onChange(next)
              }}
            />
          </Suspense>
        )}
      </Menu>
      {known.field.type === 'ref' && condition.operator === 'any' && (
        <ReferenceNames to={known.field.to ?? null} ids={condition.values.map(Number)} />
      )}
      <Button icon="close" tone="plain" aria-label={texts.list.removeFilter(label)} onClick={onRemove} />
    </span>
  )
}

/** Returns a condition in words: "Status is open or paid". Names of references are shown beside it. */
function useConditionText({ operator, values }: Condition, known: FilterField | undefined): string {
  const texts = useTexts()
  if (known === undefined) return ''
  const words = texts.list.operators[operator]
  if (!needsValue(operator) || known.field.type === 'ref') return `${known.label} ${words}`
  const shown = values.map((value) =>
    operator === 'within'
      ? texts.list.lastDays(formatNumber(Number(value)))
      : typeof value === 'boolean'
        ? texts.list[value ? 'yes' : 'no']
        : textOf(known.field, value),
  )
  return `${known.label} ${words} ${shown.join(', ').slice(0, 80)}`
}
