import { type Context, signInFirst } from '../../api/context.ts'
import { didYouMean } from '../../declare/closest.ts'
import { invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { isUsable } from './describe.ts'

/** Finds a type by its name. One that the caller cannot use at all is treated as if it did not exist. */
export function planNamed(context: Context, actor: Actor, name: unknown, path = 'entity'): Plan {
  const plan = context.plans.get(String(name))
  if (plan !== undefined && isUsable(plan, actor)) return plan
  if (actor.kind === 'nobody') throw signInFirst()
  const known = [...context.plans.values()].filter((one) => isUsable(one, actor)).map(({ type }) => type.name)
  const guess = didYouMean(String(name), known)
  throw invalidAt(path, `is not an Entity type that you can use${guess === '' ? ': see describe' : guess}`)
}
