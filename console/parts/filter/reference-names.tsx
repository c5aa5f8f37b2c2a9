import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../../api.ts'
import { nameOf, untitled, useEntityType } from '../../model.ts'
import { namingFields } from '../../names.ts'

/** The names of some Entities, one after another. */
export function ReferenceNames({ to, ids }: { readonly to: string | null; readonly ids: readonly number[] }) {
  const type = useEntityType(to ?? '')
  const few = ids.slice(0, 3)
  const { data } = useQuery({
    queryKey: ['list', to, 'names', few],
    queryFn: ({ signal }) =>
      get<Page<EntityData>>(
        `${to}/`,
        {
          filter: `id in [${few.join(', ')}]`,
          fields: ['id', ...(type === undefined ? [] : namingFields(type))],
        },
        signal,
      ),
    enabled: type !== undefined && few.length > 0,
  })
  const names = few.map((id) => {
    const found = data?.data.find((one) => one.id === id)
    return found === undefined ? untitled(type, id) : nameOf(type, found).slice(0, 40)
  })
  return <span dir="auto">{names.join(', ') + (ids.length > few.length ? ' …' : '')}</span>
}
