import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { nameOf, useEntityType } from '../model.ts'
import { useTexts } from '../texts/index.ts'
import { useFound } from './ref-search.ts'

interface ComboboxProps {
  readonly to: string
  readonly id: string
  readonly label: string
  readonly placeholder?: string | undefined
  readonly describedBy?: string | undefined
  readonly isWrong?: boolean
  /** The current choice, if it is being changed: it is marked and comes first, and the list opens at once. */
  readonly present?: { readonly id: number; readonly name: string } | undefined
  /** Entities that are chosen already, and not offered again. */
  readonly without?: readonly number[]
  onChoose(id: number): void
  /** If set, offers to create an Entity with the typed text as its title. */
  onCreate?: ((text: string) => void) | undefined
  /** Called when it is left without a choice: by Escape, or because it lost the focus. */
  onLeave?(by: 'escape' | 'blur'): void
}

interface Option {
  readonly key: string
  readonly text: ReactNode
  readonly isPresent?: boolean
  run(): void
}

/** Finds an Entity by its name. */
export function Combobox(props: ComboboxProps) {
  const { id, label, placeholder, describedBy, isWrong, present, onLeave } = props
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(present !== undefined)
  const [at, setAt] = useState(0)
  const close = () => {
    setOpen(false)
    setText('')
    setAt(0)
  }
  const { options, isCurrent } = useOptions(props, { text, isOpen, close })
  const press = (event: KeyboardEvent) => {
    // Options for an earlier text can be clicked, but Enter must not choose one unseen.
    const isTooEarly = event.key === 'Enter' && isOpen && !isCurrent
    const isHandled =
      isTooEarly ||
      pressIn(event.key, {
        isOpen,
        at,
        options: options ?? [],
        setAt,
        open: () => setOpen(true),
        leave: () => {
          close()
          onLeave?.('escape')
        },
      })
    if (!isHandled) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div className="combobox">
      <input
        id={id}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={`${id}-options`}
        aria-activedescendant={
          isOpen && options !== undefined && options.length > 0 ? `${id}-option-${at}` : undefined
        }
        aria-describedby={describedBy}
        aria-invalid={isWrong || undefined}
        autoComplete="off"
        placeholder={placeholder}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: somebody has just pressed the button that it stands in place of.
        autoFocus={present !== undefined}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
          setOpen(true)
        }}
        onClick={() => setOpen(true)}
        onKeyDown={press}
        onBlur={() => {
          close()
          onLeave?.('blur')
        }}
      />
      <Options id={id} label={label} options={isOpen ? options : undefined} at={at} setAt={setAt} />
    </div>
  )
}

interface Pressed {
  readonly isOpen: boolean
  readonly at: number
  readonly options: readonly Option[]
  setAt(at: number): void
  open(): void
  leave(): void
}

function pressIn(key: string, { isOpen, at, options, setAt, open, leave }: Pressed): boolean {
  if (key === 'ArrowDown' || key === 'ArrowUp') {
    if (!isOpen) open()
    else setAt(Math.max(0, Math.min(options.length - 1, at + (key === 'ArrowDown' ? 1 : -1))))
    return true
  }
  if (!isOpen) return false
  if (key === 'Enter') options[at]?.run()
  else if (key === 'Escape') leave()
  else return false
  return true
}

function useOptions(
  { to, present, without = [], onChoose, onCreate }: ComboboxProps,
  { text, isOpen, close }: { text: string; isOpen: boolean; close(): void },
): { readonly options: Option[] | undefined; readonly isCurrent: boolean } {
  const texts = useTexts()
  const type = useEntityType(to)
  const found = useFound(to, text, isOpen)
  const wanted = text.trim()
  const done = (run: () => void) => () => {
    close()
    run()
  }
  const last = useRef<Option[]>(undefined)
  if (found === undefined) return { options: last.current, isCurrent: false }
  const option = (id: number, name: string): Option => ({
    key: String(id),
    text: (
      <>
        <span dir="auto">{name}</span>
        <small>{id}</small>
      </>
    ),
    isPresent: id === present?.id,
    run: done(() => onChoose(id)),
  })
  const isFirst = present !== undefined && wanted === ''
  const offered = [
    ...(isFirst ? [option(present.id, present.name)] : []),
    ...found
      .filter((one) => !without.includes(one.id) && !(isFirst && one.id === present.id))
      .map((one) => option(one.id, nameOf(type, one))),
  ]
  const mayCreate = onCreate !== undefined && type !== undefined && type.may.create !== false
  const create = mayCreate
    ? [{ key: 'new', text: texts.entity.ref.create(wanted), run: done(() => onCreate(wanted)) }]
    : []
  last.current = [...offered, ...create]
  return { options: last.current, isCurrent: true }
}

interface OptionsProps {
  readonly id: string
  readonly label: string
  readonly options: readonly Option[] | undefined
  readonly at: number
  setAt(at: number): void
}

function Options({ id, label, options, at, setAt }: OptionsProps) {
  const texts = useTexts()
  return (
    <div
      role="listbox"
      id={`${id}-options`}
      aria-label={label}
      hidden={options === undefined}
      className="options"
    >
      {options?.map((option, index) => (
        <div
          key={option.key}
          id={`${id}-option-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          aria-current={option.isPresent || undefined}
          onPointerMove={() => setAt(index)}
          // On pointer down, because the input would lose the focus before a click, and close the list.
          onPointerDown={(event) => {
            event.preventDefault()
            option.run()
          }}
        >
          {option.text}
        </div>
      ))}
      {options?.length === 0 && (
        <div role="option" aria-selected="false" aria-disabled="true" tabIndex={-1} className="muted">
          {texts.entity.ref.nothing}
        </div>
      )}
    </div>
  )
}
