import type { Texts } from '../texts/index.ts'
import type { Errors } from './place-errors.ts'
import { unsendable } from './send.ts'
import type { FormState } from './state.ts'

/** Returns the errors found before sending: only invalid JSON. The server finds all others. */
export function localErrors(
  { fields, base, draft }: FormState,
  texts: Texts,
  mode: 'create' | 'edit',
): Errors {
  const found = unsendable(fields, mode === 'edit' ? base : undefined, draft)
  return Object.fromEntries(
    Object.entries(found).map(([path, wrong]) => [
      path,
      [
        wrong.problem === 'null'
          ? texts.entity.json.nullInside
          : texts.entity.json.wrong(wrong.line ?? 1, wrong.column ?? 1, wrong.says),
      ],
    ]),
  )
}
