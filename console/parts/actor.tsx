import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { get, type Json } from '../api.ts'
import { nameOf, untitled, useModel } from '../model.ts'
import { useTexts } from '../texts/index.ts'
import { Icon } from './icon.tsx'

/** Shows an Actor: `users/3`, `keys/7`, `jobs/nightly`, `admins/1 as users/5`, `system`; `null` is nobody. */
export function Actor({ actor }: { readonly actor: string | null }) {
  const texts = useTexts()
  if (actor === null) return <span className="actor">{texts.actors.nobody}</span>
  if (actor === 'system') return <span className="actor">{texts.actors.system}</span>
  const [first = '', second] = actor.split(' as ')
  return (
    <span className="actor">
      <OneActor actor={first} />
      {second !== undefined && (
        <>
          {` ${texts.actors.as} `}
          <OneActor actor={second} />
        </>
      )}
    </span>
  )
}

/** The query for the user behind an Actor. */
export function actorQuery(actor: string) {
  const [entity = '', id = ''] = actor.split('/')
  return {
    queryKey: ['entity', entity, Number(id), 'name'],
    queryFn: ({ signal }: { signal: AbortSignal }) => get<Json>(`${entity}/${id}/`, {}, signal),
    staleTime: 5 * 60_000,
    retry: false,
  }
}

/** The query for the name of a key, which it keeps after it has ended. */
export function keyQuery(actor: string) {
  return {
    queryKey: ['auth', 'keys', 'name', actor],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      get<{ readonly name: string }>(`auth/${actor}/`, {}, signal),
    enabled: actor.startsWith('keys/'),
    staleTime: 5 * 60_000,
    retry: false,
  }
}

function OneActor({ actor }: { readonly actor: string }) {
  const [entity = '', id = ''] = actor.split('/')
  const type = useModel().entities.find((one) => one.name === entity && one.login !== null)
  const { data } = useQuery({ ...actorQuery(actor), enabled: type !== undefined })
  const key = useQuery(keyQuery(actor)).data?.name
  if (key !== undefined)
    return (
      <Link href={`/operations?actor=${encodeURIComponent(actor)}`} title={actor}>
        <Icon name="key" size={14} /> {key}
      </Link>
    )
  if (type === undefined) return <code>{actor}</code>
  return (
    <Link href={`/${entity}/${id}`} title={actor}>
      {data === undefined ? untitled(type, id) : nameOf(type, data)}
    </Link>
  )
}
