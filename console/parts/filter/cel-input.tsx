import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react'
import { type EntityType, useModel } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'
import { type Completion, completionsAt } from './complete.ts'
import { exampleOf } from './example.ts'

interface CelProps {
  readonly type: EntityType
  readonly value: string
  /** The error that the API reports. */
  readonly error?: string | undefined
  /** Whether it was just opened by the user. */
  readonly autoFocus: boolean
  onChange(value: string): void
  /** Called on Enter. */
  onApply(): void
}

/** An input for a condition as text, with completions. It marks the position of an error. */
export function CelInput({ type, value, error, autoFocus, onChange, onApply }: CelProps) {
  const texts = useTexts()
  const id = useId()
  const completing = useCompleting(type, value, onChange)
  const { options, at } = completing
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (completing.press(event.key)) event.preventDefault()
    else if (event.key === 'Enter') {
      event.preventDefault()
      onApply()
    }
  }
  return (
    <div className="cel">
      <div className="cel-text">
        <Mirror text={value} error={error} />
        <textarea
          ref={completing.input}
          // biome-ignore lint/a11y/noAutofocus: only where somebody has just asked for it.
          autoFocus={autoFocus}
          rows={1}
          aria-label={texts.list.filterText}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={`${id}-options`}
          aria-activedescendant={options[at] === undefined ? undefined : `${id}-${at}`}
          aria-invalid={error !== undefined}
          aria-describedby={`${id}-error`}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          placeholder={exampleOf(type)}
          value={value}
          onChange={(event) => completing.type(event.target)}
          onBlur={completing.close}
          onKeyDown={press}
        />
      </div>
      <div
        role="listbox"
        id={`${id}-options`}
        aria-label={texts.list.completions}
        className="options completions"
        hidden={options.length === 0}
      >
        {options.map((option, place) => (
          <Option
            key={option.label}
            id={`${id}-${place}`}
            option={option}
            isAt={place === at}
            onTake={completing.take}
          />
        ))}
      </div>
      <p id={`${id}-error`} className="wrong" role="status">
        {error}
      </p>
    </div>
  )
}

interface OptionProps {
  readonly id: string
  readonly option: Completion
  readonly isAt: boolean
  onTake(option: Completion): void
}

function Option({ id, option, isAt, onTake }: OptionProps) {
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isAt}
      onPointerDown={(event) => {
        // Keeps the focus in the text.
        event.preventDefault()
        onTake(option)
      }}
    >
      <code>{option.label}</code>
      <span className="muted">{option.note}</span>
    </div>
  )
}

/** Repeats the text below the input, to mark the position of an error: `… at column 3`. */
function Mirror({ text, error }: { readonly text: string; readonly error?: string | undefined }) {
  const column = /at column (\d+)/.exec(error ?? '')?.[1]
  const from = column === undefined ? text.length : Number(column) - 1
  const wrong = /^[\w.]+|^./.exec(text.slice(from))?.[0] ?? ' '
  return (
    <div className="cel-mirror" aria-hidden="true">
      {text.slice(0, from)}
      {column !== undefined && <mark>{wrong}</mark>}
      {text.slice(from + wrong.length)}{' '}
    </div>
  )
}

/** Returns the completions at the caret, and functions to choose one. */
function useCompleting(type: EntityType, value: string, onChange: (value: string) => void) {
  const model = useModel()
  const input = useRef<HTMLTextAreaElement>(null)
  const caret = useRef<number>(undefined)
  const [{ from, options }, setFound] = useState({ from: 0, options: [] as readonly Completion[] })
  const [at, setAt] = useState(-1)
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    input.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  const close = () => setFound({ from: 0, options: [] })
  const take = ({ insert }: Completion) => {
    const end = input.current?.selectionStart ?? value.length
    caret.current = from + insert.length
    onChange(value.slice(0, from) + insert + value.slice(end))
    close()
  }
  const typed = ({ value: text, selectionStart }: HTMLTextAreaElement) => {
    onChange(text.replaceAll('\n', ' '))
    setFound(completionsAt(text.slice(0, selectionStart), type, model))
    setAt(-1)
  }
  const press = (key: string): boolean => {
    const chosen = options[key === 'Tab' ? Math.max(0, at) : at]
    if (options.length === 0) return false
    if (key === 'ArrowDown') setAt((at + 1) % options.length)
    else if (key === 'ArrowUp') setAt((at <= 0 ? options.length : at) - 1)
    else if ((key === 'Enter' || key === 'Tab') && chosen !== undefined) take(chosen)
    else if (key === 'Escape') close()
    else return false
    return true
  }
  return { input, options, at, take, type: typed, close, press }
}
