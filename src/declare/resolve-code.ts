import { didYouMean } from './closest.ts'
import { hookNames } from './code.ts'
import type { Hooks } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'

/** The hooks of one type. */
export function resolveHooks(declared: unknown, path: string, problems: Problems): Hooks | undefined {
  if (declared === undefined) return undefined
  if (!isRecord(declared)) {
    problems.push([`${path}.before`, 'must be functions by name: { create(body, { me, api }) { … } }'])
    return undefined
  }
  for (const [name, hook] of Object.entries(declared))
    if (!hookNames.some((one) => one === name))
      problems.push([
        `${path}.before.${name}`,
        `is not a hook${didYouMean(name, hookNames)} (there are: ${hookNames.join(', ')})`,
      ])
    else if (typeof hook !== 'function') problems.push([`${path}.before.${name}`, 'must be a function'])
  return Object.keys(declared).length === 0 ? undefined : (declared as Hooks)
}
