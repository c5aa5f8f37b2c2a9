import { createContext, type ReactNode, useContext } from 'react'
import { type Draft, draftAt } from './draft.ts'
import type { Errors } from './place-errors.ts'

/** What every input of a form knows. */
export interface FormContext {
  /** In front of the ids of its elements. */
  readonly id: string
  readonly mode: 'create' | 'edit'
  readonly draft: Draft
  change(path: string, value: Draft): void
  readonly errors: Errors
  /** What there is to say about a field besides: somebody else has changed it. */
  readonly notes: Readonly<Record<string, ReactNode>>
  /** Fields that differ from what is saved. */
  readonly changed: ReadonlySet<string>
}

const Context = createContext<FormContext | undefined>(undefined)
export const FormProvider = Context.Provider

export function useForm(): FormContext {
  const form = useContext(Context)
  if (form === undefined) throw new Error('There is no form around this input.')
  return form
}

/** The input at a path, and how to change it. */
export function useDraft(path: string): [draft: Draft, change: (value: Draft) => void] {
  const form = useForm()
  return [draftAt(form.draft, path) ?? null, (value) => form.change(path, value)]
}
