import { Fragment, type ReactNode } from 'react'
import { type Field, labelOf } from '../model.ts'
import { Sentence } from '../parts/sentence.tsx'
import { useTexts } from '../texts/index.ts'
import type { ControlProps } from './control-props.ts'
import { useForm } from './form-context.ts'
import { hintsOf, inWords, isPatternShown } from './hints.ts'
import { BooleanInput, ChoiceInput, MomentInput, SecretInput, TextInput } from './inputs.tsx'
import { JsonInput } from './json-input.tsx'
import { ListInput } from './list-input.tsx'
import { ObjectInput } from './object-input.tsx'
import { RefInput } from './ref-input.tsx'
import { RefListInput } from './ref-list-input.tsx'

interface FieldRowProps {
  readonly field: Field
  /** The path of the input. Items of lists are numbers in it. */
  readonly path: string
}

/** In an edit, a secret may be left empty: it then stays as it is. */
function isRequired({ required, type }: Field, mode: 'create' | 'edit'): boolean {
  return required && !(mode === 'edit' && (type === 'secret' || type === 'password'))
}

const GROUPS = ['object', 'list', 'json']

/** One field of a form: label, control, hints, errors. */
export function FieldRow({ field, path }: FieldRowProps) {
  const texts = useTexts()
  const form = useForm()
  const isChanged = form.changed.has(path) && form.mode === 'edit'
  const isGroup = field.type === 'object' || field.type === 'list'
  const label = (
    <>
      {labelOf(field)}
      {isRequired(field, form.mode) && (
        <span className="required" title={texts.entity.required}>
          {' *'}
        </span>
      )}
      {isChanged && <span className="changed" title={texts.entity.changed} />}
    </>
  )
  const row = <RowBody field={field} path={path} label={labelOf(field)} />
  const id = `${form.id}-${path}`
  const name = GROUPS.includes(field.type) ? 'field wide' : 'field'
  if (isGroup)
    return (
      <fieldset className={name} data-path={path}>
        <legend className="label">{label}</legend>
        {row}
      </fieldset>
    )
  return (
    <div className={name} data-path={path}>
      <label htmlFor={id}>{label}</label>
      {row}
    </div>
  )
}

function RowBody({ field, path, label }: FieldRowProps & { readonly label: string }) {
  const texts = useTexts()
  const form = useForm()
  const id = `${form.id}-${path}`
  const hints = [...(field.description ? [field.description] : []), ...hintsOf(field, texts)]
  const pattern = isPatternShown(field) ? field.pattern : undefined
  const hasHint = hints.length > 0 || pattern !== undefined
  const wrong = (form.errors[path] ?? []).map((message) => inWords(message, field, texts))
  const described = [hasHint && `${id}-hint`, wrong.length > 0 && `${id}-wrong`]
  return (
    <>
      <Control
        kind={field}
        path={path}
        id={id}
        label={label}
        describedBy={described.filter(Boolean).join(' ') || undefined}
        isWrong={wrong.length > 0}
        placeholder={placeholderOf(field, texts.entity, form.mode)}
      />
      {hasHint && (
        <p className="hint" id={`${id}-hint`}>
          {hints.join(' · ')}
          {pattern !== undefined && (
            <>
              {hints.length > 0 && ' · '}
              {texts.entity.limits.pattern} <code>{pattern}</code>
            </>
          )}
        </p>
      )}
      <Messages id={`${id}-wrong`} messages={wrong} />
      {form.notes[path]}
    </>
  )
}

export function Messages({
  id,
  messages,
}: {
  readonly id: string
  readonly messages: readonly string[]
}): ReactNode {
  if (messages.length === 0) return null
  return (
    <p className="wrong" id={id}>
      {messages.map((message, at) => (
        <Fragment key={message}>
          {at > 0 && '; '}
          <Sentence text={message} />
        </Fragment>
      ))}
    </p>
  )
}

/** Returns the placeholder of a new Entity's input: the value that it gets if left empty, or an example. */
function placeholderOf(
  field: Field,
  words: {
    readonly byDefault: (value: string) => string
    readonly provided: Record<'me' | 'now' | 'server', string>
  },
  mode: 'create' | 'edit',
): string | undefined {
  if (mode === 'edit') return undefined
  if (field.provided !== undefined) return words.provided[field.provided]
  if (field.default !== undefined && !Array.isArray(field.default))
    return words.byDefault(typeof field.default === 'string' ? field.default : JSON.stringify(field.default))
  return ['string', 'number'].includes(typeof field.example) ? String(field.example) : undefined
}

/** The input for a type of field. */
export function Control(props: ControlProps) {
  const { type, items } = props.kind
  switch (type) {
    case 'boolean':
      return <BooleanInput {...props} />
    case 'choice':
      return <ChoiceInput {...props} />
    case 'date':
    case 'datetime':
      return <MomentInput {...props} />
    case 'json':
      return <JsonInput {...props} />
    case 'secret':
    case 'password':
      return <SecretInput {...props} />
    case 'object':
      return <ObjectInput {...props} />
    case 'list':
      return items?.type === 'ref' ? <RefListInput {...props} /> : <ListInput {...props} />
    case 'ref':
      return <RefInput {...props} />
    default:
      return <TextInput {...props} />
  }
}
