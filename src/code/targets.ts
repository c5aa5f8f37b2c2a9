import type { Context } from '../api/context.ts'
import { statesOf } from '../api/past/states.ts'
import { perform } from '../api/perform.ts'
import { budget } from '../budget.ts'
import type { Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { addReferenceError, dottedPath, memberId, type Values } from '../declare/values.ts'
import type { Errors } from '../errors.ts'

/** Notes references in a body to Entities that are not live, as a create does. */
export async function addDeadTargetErrors(
  context: Context,
  fields: readonly Field[],
  values: Values,
  errors: Errors,
): Promise<void> {
  const sent = [...pointers(fields, values, '')].filter(({ path }) => !errors.has(path))
  for (let at = 0; at < sent.length; at += budget.pageEntities) {
    const some = sent.slice(at, at + budget.pageEntities)
    const states = await perform(context.store, statesOf(context, some))
    for (const { path, entity, id } of some)
      if (states.get(`${entity}/${id}`)?.deletion !== null)
        addReferenceError(errors, path, 'refers to nothing')
  }
}

interface Pointer {
  readonly path: string
  readonly entity: string
  readonly id: number
}

function* pointers(fields: readonly Field[], values: Values, prefix: string): Generator<Pointer> {
  for (const field of fields) {
    const value = values[field.name]
    const path = `${prefix}${field.name}`
    if (field.kind === 'object' && isRecord(value)) yield* pointers(field.fields, value, `${path}.`)
    if (field.kind === 'reference' && isRecord(value) && Number.isSafeInteger(value.id))
      yield { path, entity: field.target, id: Number(value.id) }
    if (field.kind === 'links' && Array.isArray(value))
      for (const [at, one] of value.entries())
        if (isRecord(one))
          yield {
            path: dottedPath(`${path}.${at}`, field.member),
            entity: field.target,
            id: memberId(one, field.member),
          }
  }
}
