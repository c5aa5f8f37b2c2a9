import { didYouMean } from './closest.ts'
import { hookNames } from './code.ts'
import type { Hooks, UserCode } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'
import { resolveJobs } from './resolve-jobs.ts'
import { resolveReactions } from './resolve-reactions.ts'
import { resolveRoutes } from './resolve-routes.ts'
import type { Types } from './rules.ts'

/** Resolves the user's code, except for hooks, which are part of the types. */
export function resolveCode(
  { routes, jobs, reactions }: Readonly<Record<string, unknown>>,
  types: Types,
  problems: Problems,
): UserCode {
  return {
    routes: resolveRoutes(routes, types, problems),
    jobs: resolveJobs(jobs, problems),
    reactions: resolveReactions(reactions, [...types.entities.keys()], problems),
  }
}

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
