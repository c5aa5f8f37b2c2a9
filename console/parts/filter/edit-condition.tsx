import { useEffect, useId, useRef, useState } from 'react'
import { useTexts } from '../../texts/index.ts'
import { Button } from '../button.tsx'
import { type Condition, type FilterField, needsValue, operatorsOf } from './conditions.ts'
import { ValueInput } from './value-input.tsx'

interface EditConditionProps {
  readonly fields: readonly FilterField[]
  readonly condition?: Condition
  onDone(condition: Condition): void
}

/** Adds or changes a condition: its field, operator and values. */
export default function EditCondition({ fields, condition, onDone }: EditConditionProps) {
  const texts = useTexts()
  const [path, setPath] = useState(condition?.path)
  const [text, setText] = useState('')
  const chosen = fields.find((one) => one.path === path)
  if (chosen !== undefined) return <ConditionForm field={chosen} condition={condition} onDone={onDone} />
  const offered = fields.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()))
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
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          setPath(offered[0]?.path)
        }}
      />
      {offered.map((one) => (
        <button key={one.path} type="button" onClick={() => setPath(one.path)}>
          {one.label}
        </button>
      ))}
    </div>
  )
}

interface ConditionFormProps {
  readonly field: FilterField
  readonly condition: Condition | undefined
  onDone(condition: Condition): void
}

function ConditionForm({ field, condition, onDone }: ConditionFormProps) {
  const texts = useTexts()
  const id = useId()
  const operators = operatorsOf(field.field)
  const [operator, setOperator] = useState(condition?.operator ?? operators[0] ?? 'filled')
  const [values, setValues] = useState(condition?.values ?? [])
  const form = useRef<HTMLFormElement>(null)
  // The operator is preset, so the focus goes to the value.
  useEffect(() => {
    const answer = form.current?.querySelector<HTMLElement>('input, select ~ select')
    const next = answer ?? form.current?.querySelector('select')
    next?.focus()
  }, [])
  const isWhole = !needsValue(operator) || values.length > 0
  return (
    <form
      ref={form}
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
