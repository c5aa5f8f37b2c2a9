import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { useName } from '../names.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useTexts } from '../texts/index.ts'
import { Combobox } from './combobox.tsx'
import type { ControlProps } from './control-props.ts'
import { CreateInPlace } from './create-in-place.tsx'
import { isRef } from './draft.ts'
import { useDraft, useForm } from './form-context.ts'

/** An input for a reference: shows the name of its Entity, or a search for one. */
export function RefInput(props: ControlProps) {
  const { kind, path } = props
  const [draft, change] = useDraft(path)
  const [isChanging, setChanging] = useState(false)
  const [created, setCreated] = useState<string>()
  // After a choice, the focus stays here.
  const keepsFocus = useRef(false)
  const { to } = kind
  if (!to) return <IdInput {...props} />
  const choose = (ref: number) => {
    keepsFocus.current = true
    change({ ref })
    setChanging(false)
  }
  return (
    <>
      {isRef(draft) && !isChanging ? (
        <ChosenRef
          to={to}
          of={draft.ref}
          props={props}
          takesFocus={keepsFocus.current}
          onChange={() => setChanging(true)}
          onClear={() => change(null)}
        />
      ) : (
        <RefSearch
          to={to}
          of={isRef(draft) ? draft.ref : null}
          props={props}
          onChoose={choose}
          onCreate={setCreated}
          onLeave={(by) => {
            keepsFocus.current = by === 'escape'
            setChanging(false)
          }}
        />
      )}
      {created !== undefined && (
        <CreateInPlace
          entity={to}
          title={created}
          onClose={() => setCreated(undefined)}
          onCreated={(ref) => change({ ref })}
        />
      )}
    </>
  )
}

interface SearchProps {
  readonly to: string
  /** The current choice, until another one is made. */
  readonly of: number | null
  readonly props: ControlProps
  onChoose(id: number): void
  onCreate(text: string): void
  onLeave(by: 'escape' | 'blur'): void
}

function RefSearch({ to, of, props, onChoose, onCreate, onLeave }: SearchProps) {
  const texts = useTexts()
  const { name } = useName(to, of)
  const { id, label, describedBy, isWrong, placeholder } = props
  return (
    <Combobox
      to={to}
      id={id}
      label={label}
      describedBy={describedBy}
      isWrong={isWrong}
      placeholder={of === null ? (placeholder ?? texts.entity.ref.search) : name}
      present={of === null ? undefined : { id: of, name }}
      onChoose={onChoose}
      onCreate={onCreate}
      onLeave={onLeave}
    />
  )
}

interface ChosenProps {
  readonly to: string
  readonly of: number
  readonly props: ControlProps
  readonly takesFocus: boolean
  onChange(): void
  onClear(): void
}

function ChosenRef({ to, of, props, takesFocus, onChange, onClear }: ChosenProps) {
  const texts = useTexts()
  const { name } = useName(to, of)
  const { mode } = useForm()
  const { kind, id, label, describedBy, isWrong } = props
  // In a create, the server may set a value that is left empty.
  const mayClear = mode === 'create' ? !kind.required : kind.nullable
  return (
    <div className={isWrong ? 'chosen wrong-border' : 'chosen'}>
      <button
        type="button"
        id={id}
        className="chosen-name"
        aria-label={texts.entity.ref.chosen(label, name)}
        aria-describedby={describedBy}
        aria-invalid={isWrong || undefined}
        // biome-ignore lint/a11y/noAutofocus: it stands in place of the search that had the focus.
        autoFocus={takesFocus}
        onClick={onChange}
      >
        <span dir="auto">{name}</span>
      </button>
      <Link
        href={`/${to}/${of}`}
        title={texts.entity.ref.open(name)}
        aria-label={texts.entity.ref.open(name)}
      >
        <Icon name="right" />
      </Link>
      {mayClear && (
        <Button tone="plain" icon="close" aria-label={texts.entity.ref.clear(label)} onClick={onClear} />
      )}
    </div>
  )
}

/** An input for a reference to a type that the user may not list: its id. */
function IdInput({ path, id, label, describedBy, isWrong }: ControlProps) {
  const [draft, change] = useDraft(path)
  return (
    <input
      id={id}
      aria-label={label}
      aria-describedby={describedBy}
      aria-invalid={isWrong || undefined}
      type="number"
      min={1}
      value={isRef(draft) ? draft.ref : ''}
      onChange={({ target }) => change(target.value === '' ? null : { ref: Number(target.value) })}
    />
  )
}
