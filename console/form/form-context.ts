import { createContext, type ReactNode, useContext } from 'react'
import { type Draft, draftAt } from './draft.ts'
import type { Errors } from './place-errors.ts'

/** The data that all inputs of a form share. */
export interface FormContext {
  /** The prefix for the ids of its elements. */
  readonly id: string
  readonly mode: 'create' | 'edit'
  readonly draft: Draft
  change(path: string, value: Draft): void
  readonly errors: Errors
  /** Notes below fields: that somebody else has changed them. */
  readonly notes: Readonly<Record<string, ReactNode>>
  /** Fields that differ from the saved Entity. */
  readonly changed: ReadonlySet<string>
}

const Context = createContext<FormContext | undefined>(undefined)
export const FormProvider = Context.Provider

export function useForm(): FormContext {
  const form = useContext(Context)
  if (form === undefined) throw new Error('There is no form around this input.')
  return form
}

/** Returns the input at a path, and a function that changes it. */
export function useDraft(path: string): [draft: Draft, change: (value: Draft) => void] {
  const form = useForm()
  return [draftAt(form.draft, path) ?? null, (value) => form.change(path, value)]
}
