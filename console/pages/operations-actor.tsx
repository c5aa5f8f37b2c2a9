import { useQueries } from '@tanstack/react-query'
import { useId } from 'react'
import { get, type Page } from '../api.ts'
import { type EntityType, useModel, valueAt } from '../model.ts'
import { useParameter } from '../moment.ts'
import type { Operation } from '../operations.ts'
import { actorOf } from '../own-changes.ts'
import { actorQuery, keyQuery } from '../parts/actor.tsx'
import { Button } from '../parts/button.tsx'
import { useSignedIn } from '../session.ts'
import { useTexts } from '../texts/index.ts'

/** Chooses whose operations are shown: an actor of the loaded ones, or one typed as an e-mail or as `users/3`. */
export function ActorFilter({ known }: { readonly known: readonly Operation[] }) {
  const texts = useTexts()
  const list = useId()
  const me = useSignedIn()
  const model = useModel()
  const [actor, setActor] = useParameter('actor')
  const self = actorOf(me, model)
  const actors = new Set(known.flatMap((one) => one.actor?.split(' as ').at(-1) ?? []))
  if (actor !== undefined) actors.add(actor)
  const logins = useLogins([...actors])
  const shown = actor === undefined ? '' : (logins.get(actor) ?? actor)
  const choose = async (input: HTMLInputElement) => {
    const text = input.value.trim()
    if (text === shown) return
    const chosen =
      [...logins].find(([, login]) => login === text)?.[0] ?? (await findActor(text, model.entities))
    input.setCustomValidity(chosen === undefined ? texts.operations.noActor : '')
    if (chosen === undefined) input.reportValidity()
    else setActor(chosen)
  }
  return (
    <div className="actor-filter">
      <label>
        <span>{texts.operations.filterActor}</span>
        <input
          key={shown}
          type="search"
          list={list}
          defaultValue={shown}
          placeholder={texts.operations.filterActorHint}
          onInput={(event) => event.currentTarget.setCustomValidity('')}
          onBlur={(event) => void choose(event.currentTarget)}
          onKeyDown={(event) => event.key === 'Enter' && void choose(event.currentTarget)}
        />
      </label>
      <datalist id={list}>
        {[...actors].map((name) => (
          <option key={name} value={logins.get(name) ?? name} />
        ))}
      </datalist>
      {self !== undefined && (
        <Button aria-pressed={actor === self} onClick={() => setActor(actor === self ? undefined : self)}>
          {texts.operations.mine}
        </Button>
      )}
    </div>
  )
}

const MOST = 20

/** Returns the logins of actors, and the names of keys, as far as they are known. */
function useLogins(actors: readonly string[]): ReadonlyMap<string, string> {
  const { entities } = useModel()
  const people = actors.slice(0, MOST).flatMap((actor) => {
    const type = entities.find(({ name, login }) => login !== null && actor.startsWith(`${name}/`))
    return type === undefined ? [] : [{ actor, type }]
  })
  const keys = actors.slice(0, MOST).filter((actor) => actor.startsWith('keys/'))
  const found = useQueries({ queries: people.map(({ actor }) => actorQuery(actor)) })
  const named = useQueries({ queries: keys.map(keyQuery) })
  return new Map(
    [
      ...people.map(({ actor, type }, at) => [actor, valueAt(found[at]?.data, loginOf(type))] as const),
      ...keys.map((actor, at) => [actor, named[at]?.data?.name] as const),
    ].flatMap(([actor, name]) => (typeof name === 'string' ? [[actor, name] as const] : [])),
  )
}

function loginOf({ login }: EntityType): string {
  return login?.login_with ?? 'email'
}

/** Returns `users/3` for an e-mail; undefined if no user has it whom the caller may see. */
async function findActor(text: string, types: readonly EntityType[]): Promise<string | undefined> {
  if (!text.includes('@')) return text
  const spellings = JSON.stringify([...new Set([text, text.toLowerCase()])])
  for (const type of types.filter(({ login, may }) => login !== null && may.list !== false)) {
    const query = { filter: `${loginOf(type)} in ${spellings}`, fields: 'id', limit: 1 }
    const page = await get<Page<{ id: number }>>(`${type.name}/`, query).catch(() => undefined)
    const id = page?.data[0]?.id
    if (id !== undefined) return `${type.name}/${id}`
  }
  return undefined
}
