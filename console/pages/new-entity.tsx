import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { type EntityData, get, type Json } from '../api.ts'
import { CreateForm } from '../form/create-form.tsx'
import { type EntityType, labelOf, useEntityType } from '../model.ts'
import { useParameter } from '../moment.ts'
import { useKeys } from '../parts/keys.tsx'
import { Page } from '../parts/page.tsx'
import { QueryState } from '../parts/states.tsx'
import { useTexts } from '../texts/index.ts'

export default function NewEntity({ entity }: { readonly entity: string }) {
  const texts = useTexts()
  const type = useEntityType(entity)
  const [like] = useParameter('like')
  const source = useQuery({
    queryKey: ['entity', entity, Number(like), 'copy'],
    queryFn: ({ signal }) => get<EntityData>(`${entity}/${like}/`, {}, signal),
    enabled: like !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (type === undefined) return <Page title={entity}>{texts.errors.noType}</Page>
  if (like !== undefined && source.data === undefined) return <QueryState query={source} />
  return <NewPage key={like} type={type} like={source.data && copyOf(type, source.data)} />
}

/** Returns the values for a copy, without unique ones. */
function copyOf(type: EntityType, data: EntityData): Json {
  const alone = new Set(type.fields.filter((field) => field.unique === true).map(({ name }) => name))
  return Object.fromEntries(Object.entries(data).filter(([name]) => !alone.has(name)))
}

function NewPage({ type, like }: { readonly type: EntityType; readonly like: Json | undefined }) {
  const texts = useTexts()
  const [, navigate] = useLocation()
  const list = `/${type.name}`
  useKeys({ escape: () => navigate(list) })
  return (
    <Page title={texts.entity.new(labelOf(type))} above={<Link href={list}>{labelOf(type)}</Link>}>
      {type.description !== null && <p className="muted intro">{type.description}</p>}
      <div className="entity new">
        <CreateForm
          type={type}
          like={like}
          keep={`${type.name}/new`}
          onCreated={({ id }) => navigate(`${list}/${id}`, { replace: true })}
          onCancel={() => navigate(list)}
        />
      </div>
    </Page>
  )
}
