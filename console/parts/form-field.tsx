import { type InputHTMLAttributes, useId } from 'react'

interface FormFieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string
  readonly hint?: string | undefined
  /** The errors of the field. */
  readonly wrong?: readonly string[] | undefined
}

/** One line of a small form: label, input, hint and errors. */
export function FormField({ label, hint, wrong, ...input }: FormFieldProps) {
  const id = useId()
  const isWrong = wrong !== undefined && wrong.length > 0
  const described = [hint && `${id}-hint`, isWrong && `${id}-wrong`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        aria-invalid={isWrong || undefined}
        aria-describedby={described === '' ? undefined : described}
      />
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {isWrong && (
        <p className="wrong" id={`${id}-wrong`}>
          {wrong.join(', ')}
        </p>
      )}
    </div>
  )
}
