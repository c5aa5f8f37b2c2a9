import { didYouMean } from './closest.ts'
import { reactionKinds } from './code.ts'
import type { ReactionType } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'

export function resolveReactions(
  declared: unknown,
  entities: readonly string[],
  problems: Problems,
): ReactionType[] {
  if (declared === undefined) return []
  if (!isRecord(declared)) {
    problems.push([
      'reactions',
      "must be functions by name: { async 'orders.update'({ before, after, api }) { … } }",
    ])
    return []
  }
  return Object.entries(declared).flatMap(
    ([name, run]) => resolveReaction(name, run, entities, problems) ?? [],
  )
}

function resolveReaction(
  name: string,
  run: unknown,
  entities: readonly string[],
  problems: Problems,
): ReactionType | undefined {
  const at = `reactions.${name}`
  const [entity = '', word = '', ...more] = name.split('.')
  const kinds = reactionKinds.filter((one) => word === '*' || one === word)
  if (!entities.includes(entity))
    problems.push([at, `"${entity}" is not an Entity type${didYouMean(entity, entities)}`])
  if (kinds.length === 0 || more.length > 0)
    problems.push([
      at,
      `must be an Entity type and a kind of change (${reactionKinds.join(', ')} or *), such as orders.update${didYouMean(word, reactionKinds)}`,
    ])
  if (typeof run !== 'function') {
    problems.push([at, 'must be a function'])
    return undefined
  }
  return { name, entity, kinds, run: (call) => run(call) }
}
