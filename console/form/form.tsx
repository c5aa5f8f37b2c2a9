import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useMemo,
  useRef,
} from 'react'
import { Icon } from '../parts/icon.tsx'
import { useKeys } from '../parts/keys.tsx'
import { useTexts } from '../texts/index.ts'
import { changedPaths } from './draft.ts'
import { FieldRow } from './field.tsx'
import { type FormContext, FormProvider } from './form-context.ts'
import { placeErrors } from './place-errors.ts'
import type { FormAction, FormState } from './state.ts'

interface FormProps {
  readonly mode: 'create' | 'edit'
  readonly label: string
  readonly state: FormState
  dispatch(action: FormAction): void
  onSave(): void
  /** The error of the whole form, in words. */
  readonly failure?: string | undefined
  readonly notes?: FormContext['notes']
  /** Shown above the fields. */
  readonly notice?: ReactNode
  /** Shown below the fields: the buttons. */
  readonly children?: ReactNode
}

const NONE = {}

/** The inputs of an Entity. Errors are shown at their fields, and the first wrong field gets the focus. */
export function Form({
  mode,
  label,
  state,
  dispatch,
  onSave,
  failure,
  notes = NONE,
  notice,
  children,
}: FormProps) {
  const id = useId()
  const form = useRef<HTMLFormElement>(null)
  const { fields, base, draft, errors } = state
  const placed = useMemo(() => placeErrors(fields, draft, errors), [fields, draft, errors])
  const context = useMemo(
    (): FormContext => ({
      id,
      mode,
      draft,
      change: (path, value) => dispatch({ act: 'change', path, value }),
      errors: placed.at,
      notes,
      changed: new Set(changedPaths(fields, base, draft)),
    }),
    [id, mode, draft, dispatch, placed, notes, fields, base],
  )
  // While a dialog is open above the form, keys belong to the dialog.
  const save = () => (isOnTop(form.current) ? onSave() : false)
  useKeys({ 'mod+s': save, 'mod+enter': save })
  useFocusOnErrors(form.current, errors)
  useFocusAtFirst(form, mode === 'create')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // In React, events of a form in a dialog bubble to the form that opened the dialog.
    event.stopPropagation()
    onSave()
  }
  return (
    <FormProvider value={context}>
      <form
        ref={form}
        className="entity-form"
        noValidate
        aria-label={label}
        onSubmit={submit}
        onKeyDown={leaveInput}
      >
        {notice}
        <Failure failure={failure} rest={placed.rest} />
        <div className="fields">
          {fields.map((field) => (
            <FieldRow key={field.name} field={field} path={field.name} />
          ))}
        </div>
        {children}
      </form>
    </FormProvider>
  )
}

function isOnTop(form: HTMLFormElement | null): boolean {
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
  return dialog === undefined || dialog.contains(form)
}

/** Escape leaves an input; a second Escape leaves the page. */
function leaveInput(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || !(event.target instanceof HTMLElement)) return
  event.target.blur()
  // A dialog around the form must stay open: its input is not stored anywhere else.
  event.preventDefault()
  event.stopPropagation()
}

/** Focuses the first input of a new form. */
function useFocusAtFirst(form: RefObject<HTMLFormElement | null>, isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted) return
    // Later, because a dialog around the form focuses its own first button when it opens.
    const frame = requestAnimationFrame(() => {
      if (form.current?.contains(document.activeElement)) return
      form.current
        ?.querySelector<HTMLElement>('.fields :is(input, textarea, select, .chosen-name)')
        ?.focus({ preventScroll: true })
    })
    return () => cancelAnimationFrame(frame)
  }, [form, isWanted])
}

function useFocusOnErrors(form: HTMLFormElement | null, errors: FormState['errors']): void {
  const before = useRef(errors)
  useEffect(() => {
    // Only a new error moves the focus: otherwise the user is correcting the errors.
    const isNew =
      Object.keys(errors).length > 0 && Object.keys(errors).some((path) => !(path in before.current))
    before.current = errors
    if (!isNew || form === null) return
    const wrong = form.querySelector<HTMLElement>('[aria-invalid="true"]')
    const place = wrong ?? form.querySelector<HTMLElement>('[role="alert"]')
    place?.focus()
    place?.scrollIntoView({ block: 'center' })
  }, [errors, form])
}

function Failure({
  failure,
  rest,
}: {
  readonly failure: string | undefined
  readonly rest: FormState['errors']
}) {
  const texts = useTexts()
  const others = Object.entries(rest)
  if (failure === undefined && others.length === 0) return null
  return (
    <div className="form-failure" role="alert" tabIndex={-1}>
      <Icon name="warn" />
      <div>
        <p>{failure ?? texts.entity.invalid}</p>
        {others.map(([path, messages]) => (
          <p key={path}>
            {path !== '' && <code>{path}</code>} {messages.join('; ')}
          </p>
        ))}
      </div>
    </div>
  )
}
