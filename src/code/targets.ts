import { type Context, callerParams } from '../api/context.ts'
import type { Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { addReferenceError, dottedPath, memberId, type Values } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import { system } from '../plan/viewer/actor.ts'

/** Notes references in a body to Entities that are not live, as a create does. */
export async function addDeadTargetErrors(
  context: Context,
  fields: readonly Field[],
  values: Values,
  errors: Errors,
): Promise<void> {
  for (const { path, target, id } of pointers(fields, values, '')) {
    const plan = context.plans.get(target)
    if (plan === undefined || errors.has(path)) continue
    const [row] = await context.store.read(plan.view(system).lists.read, { ...callerParams(system), $id: id })
    if (row === undefined) addReferenceError(errors, path, 'refers to nothing')
  }
}

interface Pointer {
  readonly path: string
  readonly target: string
  readonly id: number
}

function* pointers(fields: readonly Field[], values: Values, prefix: string): Generator<Pointer> {
  for (const field of fields) {
    const value = values[field.name]
    const path = `${prefix}${field.name}`
    if (field.kind === 'object' && isRecord(value)) yield* pointers(field.fields, value, `${path}.`)
    if (field.kind === 'reference' && isRecord(value) && Number.isSafeInteger(value.id))
      yield { path, target: field.target, id: Number(value.id) }
    if (field.kind === 'links' && Array.isArray(value))
      for (const [at, one] of value.entries())
        if (isRecord(one))
          yield {
            path: dottedPath(`${path}.${at}`, field.member),
            target: field.target,
            id: memberId(one, field.member),
          }
  }
}
