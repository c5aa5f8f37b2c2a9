import { useState } from 'react'
import { Link } from 'wouter'
import { useName } from '../names.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useTexts } from '../texts/index.ts'
import { Combobox } from './combobox.tsx'
import { CreateInPlace } from './create-in-place.tsx'
import { isRef } from './draft.ts'
import type { ControlProps } from './field.tsx'
import { useDraft } from './form-context.ts'

/** A reference: what it refers to, by its name, or a search for it. */
export function RefInput(props: ControlProps) {
  const { kind, path, id, label, describedBy, isWrong, placeholder } = props
  const texts = useTexts()
  const [draft, change] = useDraft(path)
  const [isChanging, setChanging] = useState(false)
  const [created, setCreated] = useState<string>()
  if (!kind.to) return <IdInput {...props} />
  if (isRef(draft) && !isChanging)
    return (
      <ChosenRef
        to={kind.to}
        of={draft.ref}
        props={props}
        onChange={() => setChanging(true)}
        onClear={() => change(null)}
      />
    )
  return (
    <>
      <Combobox
        to={kind.to}
        id={id}
        label={label}
        describedBy={describedBy}
        isWrong={isWrong}
        placeholder={placeholder ?? texts.entity.ref.search}
        autoFocus={isChanging}
        onChoose={(ref) => {
          change({ ref })
          setChanging(false)
        }}
        onCreate={setCreated}
        onLeave={() => setChanging(false)}
      />
      {created !== undefined && (
        <CreateInPlace
          entity={kind.to}
          title={created}
          onClose={() => setCreated(undefined)}
          onCreated={(ref) => change({ ref })}
        />
      )}
    </>
  )
}

interface ChosenProps {
  readonly to: string
  readonly of: number
  readonly props: ControlProps
  onChange(): void
  onClear(): void
}

function ChosenRef({ to, of, props, onChange, onClear }: ChosenProps) {
  const texts = useTexts()
  const { name } = useName(to, of)
  const { id, label, describedBy, isWrong } = props
  return (
    <div className={isWrong ? 'chosen wrong-border' : 'chosen'}>
      <button
        type="button"
        id={id}
        className="chosen-name"
        aria-label={texts.entity.ref.chosen(label, name)}
        aria-describedby={describedBy}
        aria-invalid={isWrong || undefined}
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
      <Button tone="plain" icon="close" aria-label={texts.entity.ref.clear(label)} onClick={onClear} />
    </div>
  )
}

/** A reference to what one may not list: by its number. */
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
