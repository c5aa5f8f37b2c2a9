import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type EntityData, get, type Page as ListPage } from '../api.ts'
import { labelOf, nameOf, useEntityType, valueAt } from '../model.ts'
import { useMoment } from '../moment.ts'
import { Page } from '../parts/page.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { useTexts } from '../texts/index.ts'

export function List({ entity }: { readonly entity: string }) {
  const texts = useTexts()
  const type = useEntityType(entity)
  const [at] = useMoment()
  const { data, error } = useQuery({
    queryKey: ['list', entity, { at }],
    queryFn: ({ signal }) => get<ListPage<EntityData>>(`${entity}/`, { at, limit: 50 }, signal),
    enabled: type !== undefined,
  })
  if (type === undefined) return <Page title={entity}>{texts.errors.noType}</Page>
  if (error !== null) return <Failed error={error} />
  if (data === undefined) return <Loading />
  if (data.data.length === 0)
    return (
      <Page title={labelOf(type)}>
        <Empty icon="table" title={texts.list.empty} />
      </Page>
    )
  return (
    <Page title={labelOf(type)} full>
      <table>
        <tbody>
          {data.data.map((one) => (
            <tr key={one.id}>
              <td>
                <Link href={`/${entity}/${one.id}`}>{nameOf(type, one)}</Link>
              </td>
              {type.fields.map(({ path }) => (
                <td key={path}>{JSON.stringify(valueAt(one, path))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Page>
  )
}
