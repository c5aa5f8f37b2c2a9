import { useTexts } from '../texts/index.ts'
import type { ControlProps } from './control-props.ts'
import { useDraft, useForm } from './form-context.ts'

function commonOf({ id, describedBy, isWrong, placeholder }: ControlProps) {
  return {
    id,
    'aria-describedby': describedBy,
    'aria-invalid': isWrong || undefined,
    placeholder,
    autoComplete: 'off',
  }
}

const KEYBOARDS: Record<string, 'numeric' | 'decimal' | 'email' | 'url'> = {
  integer: 'numeric',
  number: 'decimal',
  decimal: 'decimal',
  email: 'email',
  url: 'url',
}
/** The maximum length of a text that gets a single line. */
const SHORT = 200

/** An input for texts and numbers. Numbers are kept as texts, so that they stay exactly as typed. */
export function TextInput(props: ControlProps) {
  const { kind, path, label } = props
  const [draft, change] = useDraft(path)
  const text = typeof draft === 'string' ? draft : ''
  const common = {
    ...commonOf(props),
    'aria-label': isItem(path) ? label : undefined,
    value: text,
    dir: 'auto' as const,
    onChange: (event: { target: { value: string } }) => change(event.target.value),
  }
  const isLong = kind.type === 'text' && (kind.max === undefined || Number(kind.max) > SHORT)
  if (isLong) return <textarea {...common} className="growing" rows={1} />
  return <input {...common} type="text" inputMode={KEYBOARDS[kind.type]} />
}

/** Items of lists have no label of their own. */
function isItem(path: string): boolean {
  return /\.\d+$/.test(path)
}

export function ChoiceInput(props: ControlProps) {
  const { kind, path, label, placeholder } = props
  const [draft, change] = useDraft(path)
  const { placeholder: _, autoComplete: __, ...common } = commonOf(props)
  return (
    <select
      {...common}
      aria-label={isItem(path) ? label : undefined}
      value={typeof draft === 'string' ? draft : ''}
      onChange={(event) => change(event.target.value)}
    >
      {(kind.nullable || draft === '') && <option value="">{placeholder ?? '—'}</option>}
      {(kind.choices ?? []).map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  )
}

export function BooleanInput(props: ControlProps) {
  const { kind, path, label, placeholder } = props
  const texts = useTexts()
  const { mode } = useForm()
  const [draft, change] = useDraft(path)
  const { placeholder: _, autoComplete: __, ...common } = commonOf(props)
  if (mode === 'edit' && !kind.nullable && draft !== null)
    return (
      <input
        {...common}
        type="checkbox"
        className="switch"
        checked={draft === true}
        onChange={(event) => change(event.target.checked)}
      />
    )
  const value = draft === null ? '' : String(draft)
  return (
    <select
      {...common}
      aria-label={isItem(path) ? label : undefined}
      value={value}
      onChange={({ target }) => change(target.value === '' ? null : target.value === 'true')}
    >
      {(kind.nullable || value === '') && <option value="">{placeholder ?? texts.entity.notSet}</option>}
      <option value="true">{texts.entity.yes}</option>
      <option value="false">{texts.entity.no}</option>
    </select>
  )
}

/** A date, or a date and time in the time zone of the browser. */
export function MomentInput(props: ControlProps) {
  const { kind, path, label } = props
  const [draft, change] = useDraft(path)
  return (
    <input
      {...commonOf(props)}
      aria-label={isItem(path) ? label : undefined}
      type={kind.type === 'date' ? 'date' : 'datetime-local'}
      step="any"
      max={kind.type === 'date' ? '9999-12-31' : '9999-12-31T23:59'}
      value={typeof draft === 'string' ? draft : ''}
      onChange={(event) => change(event.target.value)}
    />
  )
}

/** An input for a value that can be set but never read. */
export function SecretInput(props: ControlProps) {
  const texts = useTexts()
  const { mode } = useForm()
  const [draft, change] = useDraft(props.path)
  return (
    <input
      {...commonOf(props)}
      type="password"
      autoComplete="new-password"
      placeholder={mode === 'edit' ? texts.entity.newSecret : undefined}
      value={typeof draft === 'string' ? draft : ''}
      onChange={(event) => change(event.target.value)}
    />
  )
}
