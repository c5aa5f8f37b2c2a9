import { useTexts } from '../../texts/index.ts'
import type { Shown } from '../value.tsx'
import type { Literal, Operator } from './conditions.ts'
import { ReferenceSearch } from './reference-search.tsx'

interface ValueInputProps {
  readonly field: Shown
  readonly operator: Operator
  readonly values: readonly Literal[]
  onChange(values: readonly Literal[]): void
}

/** The input for the value of a condition. */
export function ValueInput({ field, operator, values, onChange }: ValueInputProps) {
  const texts = useTexts()
  const { type, to } = field.type === 'list' ? (field.items ?? { type: 'text' }) : field
  const one = (value: Literal) => onChange(value === '' ? [] : [value])
  const { value } = { value: values[0] ?? '' }
  if (operator === 'within') return <NumberInput value={value} onChange={one} label={texts.list.days} />
  if (type === 'choice' && operator === 'any')
    return <Choices field={field} chosen={values} onChange={onChange} />
  if (type === 'ref' && typeof to === 'string')
    return (
      <ReferenceSearch
        to={to}
        chosen={values.map(Number)}
        isSingle={field.type === 'list'}
        onChange={onChange}
      />
    )
  if (type === 'choice')
    return (
      <Select
        options={(field.choices ?? []).map((name) => [name, name])}
        value={String(value)}
        onChange={one}
      />
    )
  if (type === 'boolean')
    return (
      <Select
        options={[
          ['true', texts.list.yes],
          ['false', texts.list.no],
        ]}
        value={String(value)}
        onChange={(text) => onChange(text === '' ? [] : [text === 'true'])}
      />
    )
  if (type === 'integer' || type === 'number')
    return <NumberInput value={value} onChange={one} label={texts.list.value} />
  return <TextInput kind={type} value={String(value)} onChange={one} />
}

interface InputProps<Value> {
  readonly value: Value
  onChange(value: Value): void
}

function NumberInput({ value, onChange, label }: InputProps<Literal> & { readonly label: string }) {
  return (
    <input
      type="number"
      step="any"
      aria-label={label}
      value={String(value)}
      onChange={({ target }) => onChange(target.value === '' ? '' : target.valueAsNumber)}
    />
  )
}

const KINDS: Readonly<Record<string, string>> = { date: 'date', datetime: 'datetime-local' }

/** An input for texts, numbers and times. Times are entered in local time, and sent as UTC. */
function TextInput({ kind, value, onChange }: InputProps<string> & { readonly kind: string }) {
  const texts = useTexts()
  const isTime = kind === 'datetime'
  return (
    <input
      type={KINDS[kind] ?? 'text'}
      {...(kind === 'decimal' && { inputMode: 'decimal', pattern: '-?\\d+(\\.\\d+)?' })}
      aria-label={texts.list.value}
      value={isTime ? localTime(value) : value}
      onChange={({ target }) => onChange(isTime ? wholeTime(target.value) : target.value)}
    />
  )
}

export function localTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export function wholeTime(local: string): string {
  const time = new Date(local)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}

interface SelectProps extends InputProps<string> {
  readonly options: readonly (readonly [value: string, label: string])[]
}

function Select({ options, value, onChange }: SelectProps) {
  const texts = useTexts()
  return (
    <select aria-label={texts.list.value} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{texts.list.choose}</option>
      {options.map(([one, label]) => (
        <option key={one} value={one}>
          {label}
        </option>
      ))}
    </select>
  )
}

interface ChoicesProps {
  readonly field: Shown
  readonly chosen: readonly Literal[]
  onChange(chosen: readonly Literal[]): void
}

function Choices({ field, chosen, onChange }: ChoicesProps) {
  const texts = useTexts()
  return (
    <fieldset className="choices">
      <legend className="visually-hidden">{texts.list.value}</legend>
      {(field.choices ?? []).map((choice) => (
        <label key={choice}>
          <input
            type="checkbox"
            checked={chosen.includes(choice)}
            onChange={() =>
              onChange(chosen.includes(choice) ? chosen.filter((one) => one !== choice) : [...chosen, choice])
            }
          />
          {choice}
        </label>
      ))}
    </fieldset>
  )
}
