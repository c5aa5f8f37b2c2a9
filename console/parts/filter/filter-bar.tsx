import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { ApiError, get } from '../../api.ts'
import { explain, fieldErrors } from '../../explain.ts'
import { formatNumber } from '../../format.ts'
import type { EntityType } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'
import { Button } from '../button.tsx'
import { Menu } from '../menu.tsx'
import { textOf } from '../value.tsx'
import { CelInput } from './cel-input.tsx'
import { type Condition, celOf, type FilterField, needsValue, operatorsOf } from './conditions.ts'
import { conditionsOf } from './read-cel.ts'
import { ReferenceNames } from './reference-names.tsx'
import { ValueInput } from './value-input.tsx'

interface FilterBarProps {
  readonly type: EntityType
  readonly fields: readonly FilterField[]
  readonly filter: string | undefined
  onChange(filter: string | undefined): void
}

/** The conditions of a list: each as a piece that can be clicked, or all of them as a text. */
export function FilterBar({ type, fields, filter, onChange }: FilterBarProps) {
  const texts = useTexts()
  const conditions = conditionsOf(filter ?? '', fields)
  const [isText, setText] = useState(conditions === undefined)
  const change = (next: readonly Condition[]) => onChange(celOf(next, fields))
  if (isText || conditions === undefined)
    return (
      <div className="filter-text">
        <FilterText type={type} filter={filter} onChange={onChange} />
        <Button tone="plain" icon="filter" disabled={conditions === undefined} onClick={() => setText(false)}>
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
      <Menu label={texts.list.filter} icon="filter" tone="plain">
        {(close) => (
          <NewCondition
            fields={fields}
            onDone={(made) => {
              close()
              change([...conditions, made])
            }}
          />
        )}
      </Menu>
      <Button tone="plain" icon="code" onClick={() => setText(true)}>
        {texts.list.asText}
      </Button>
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
    <span className="chip">
      <Menu label={label} tone="plain">
        {(close) => (
          <ConditionForm
            field={known}
            condition={condition}
            onDone={(next) => {
              close()
              onChange(next)
            }}
          />
        )}
      </Menu>
      {known.field.type === 'ref' && condition.operator === 'any' && (
        <ReferenceNames to={known.field.to ?? null} ids={condition.values.map(Number)} />
      )}
      <Button icon="close" tone="plain" aria-label={texts.list.removeFilter(label)} onClick={onRemove} />
    </span>
  )
}

/** A condition in words: "Status is open or paid". References are named beside it. */
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

function NewCondition({
  fields,
  onDone,
}: {
  readonly fields: readonly FilterField[]
  onDone(made: Condition): void
}) {
  const texts = useTexts()
  const [path, setPath] = useState<string>()
  const [text, setText] = useState('')
  const chosen = fields.find((one) => one.path === path)
  if (chosen !== undefined) return <ConditionForm field={chosen} onDone={onDone} />
  return (
    <div className="choose-field">
      <input
        type="search"
        // biome-ignore lint/a11y/noAutofocus: the popover was just opened to choose.
        autoFocus
        aria-label={texts.list.chooseField}
        placeholder={texts.list.chooseField}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {fields
        .filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()))
        .map((one) => (
          <button key={one.path} type="button" onClick={() => setPath(one.path)}>
            {one.label}
          </button>
        ))}
    </div>
  )
}

interface ConditionFormProps {
  readonly field: FilterField
  readonly condition?: Condition
  onDone(condition: Condition): void
}

function ConditionForm({ field, condition, onDone }: ConditionFormProps) {
  const texts = useTexts()
  const id = useId()
  const operators = operatorsOf(field.field)
  const [operator, setOperator] = useState(condition?.operator ?? operators[0] ?? 'filled')
  const [values, setValues] = useState(condition?.values ?? [])
  const isWhole = !needsValue(operator) || values.length > 0
  return (
    <form
      className="condition"
      onSubmit={(event) => {
        event.preventDefault()
        if (isWhole) onDone({ path: field.path, operator, values: needsValue(operator) ? values : [] })
      }}
    >
      <label htmlFor={id}>{field.label}</label>
      <select
        id={id}
        value={operator}
        onChange={({ target }) => {
          setOperator(operators.find((one) => one === target.value) ?? operator)
          setValues([])
        }}
      >
        {operators.map((one) => (
          <option key={one} value={one}>
            {texts.list.operators[one]}
          </option>
        ))}
      </select>
      {needsValue(operator) && (
        <ValueInput field={field.field} operator={operator} values={values} onChange={setValues} />
      )}
      <Button type="submit" tone="main" disabled={!isWhole}>
        {texts.list.apply}
      </Button>
    </form>
  )
}

const PAUSE_MS = 300

/** The filter as a text. The API says whether it is right while it is typed; Enter uses it. */
function FilterText({ type, filter = '', onChange }: Omit<FilterBarProps, 'fields'>) {
  const texts = useTexts()
  const [text, setText] = useState(filter)
  const [asked, setAsked] = useState(filter)
  useEffect(() => setText(filter), [filter])
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const { error } = useQuery({
    queryKey: ['list', type.name, 'check', asked],
    queryFn: ({ signal }) => get(`${type.name}/`, { filter: asked, limit: 1, fields: 'id' }, signal),
    enabled: asked.trim() !== '',
    retry: false,
  })
  const wrong =
    error instanceof ApiError ? (fieldErrors(error).filter?.join(' ') ?? explain(error, texts)) : undefined
  const shown = asked === text ? wrong : undefined
  return (
    <>
      <CelInput
        type={type}
        value={text}
        error={shown}
        onChange={setText}
        onApply={() => onChange(text.trim() === '' ? undefined : text.trim())}
      />
      <Button
        tone={text.trim() === filter ? 'plain' : 'main'}
        disabled={shown !== undefined}
        onClick={() => onChange(text.trim() === '' ? undefined : text.trim())}
      >
        {texts.list.apply}
      </Button>
    </>
  )
}
