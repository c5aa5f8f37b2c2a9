import { useQuery } from '@tanstack/react-query'
import { send } from '../../api.ts'
import type { EntityType } from '../../model.ts'

const ACTIONS = ['update', 'delete'] as const

/** Returns which actions the user may do with this Entity. If the model says `some`, the server is asked. */
export function useMay(type: EntityType, id: number): Record<(typeof ACTIONS)[number], boolean> {
  const open = ACTIONS.filter((action) => type.may[action] === 'some')
  const { data } = useQuery({
    queryKey: ['entity', type.name, id, 'may'],
    queryFn: async () => {
      const answers = open.map(async (action) => {
        const body = { action, path: `${type.name}/${id}` }
        const { body: answer } = await send('POST', 'may/', { body, repeat: 'always' })
        return [action, (answer as { may: boolean }).may] as const
      })
      return Object.fromEntries(await Promise.all(answers))
    },
    enabled: open.length > 0,
  })
  const of = (action: (typeof ACTIONS)[number]) =>
    type.may[action] === 'some' ? data?.[action] === true : type.may[action] === true
  return { update: of('update'), delete: of('delete') }
}
