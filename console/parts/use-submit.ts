import { type FormEvent, useState } from 'react'
import { explain, fieldErrors } from '../explain.ts'
import { useTexts } from '../texts/index.ts'

export interface Submitting {
  /** For `onSubmit`. */
  submit(event: FormEvent<HTMLFormElement>): void
  readonly isBusy: boolean
  readonly error: unknown
  /** The error in words, unless it is about a field of the form. */
  readonly failure: string | undefined
  /** Returns the errors of one field. */
  wrong(path: string): readonly string[] | undefined
}

/** A form with uncontrolled inputs: submits it, and has its errors. The inputs keep their content. */
export function useSubmit(run: (values: Record<string, string>) => Promise<void>): Submitting {
  const texts = useTexts()
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [names, setNames] = useState<readonly string[]>([])
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values: Record<string, string> = {}
    for (const [name, value] of new FormData(event.currentTarget)) values[name] = String(value)
    setNames(Object.keys(values))
    setBusy(true)
    setError(undefined)
    try {
      await run(values)
    } catch (thrown) {
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }
  const errors = fieldErrors(error, texts)
  const isAtFields =
    Object.keys(errors).length > 0 && Object.keys(errors).every((path) => names.includes(path))
  return {
    submit: (event) => void submit(event),
    isBusy,
    error,
    failure: error === undefined || isAtFields ? undefined : explain(error, texts),
    wrong: (path) => errors[path],
  }
}
