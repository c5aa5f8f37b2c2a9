import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { type EntityData, get, type Page } from '../../api.ts'
import { nameOf, useEntityType } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'

interface ReferenceSearchProps {
  readonly to: string
  readonly chosen: readonly number[]
  /** One at most. */
  readonly isSingle?: boolean
  onChange(chosen: readonly number[]): void
}

const MOST = 30

/** Entities of another type, found by their title. */
export function ReferenceSearch({ to, chosen, isSingle = false, onChange }: ReferenceSearchProps) {
  const texts = useTexts()
  const [text, setText] = useState('')
  const found = useFound(to, useDeferredValue(text), chosen)
  const type = useEntityType(to)
  const toggle = (id: number) => {
    if (isSingle) onChange([id])
    else onChange(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id])
  }
  return (
    <div className="reference-search">
      <input
        type="search"
        aria-label={texts.list.searchReference(to)}
        placeholder={texts.list.search}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <fieldset>
        <legend className="visually-hidden">{to}</legend>
        {found.map((one) => (
          <label key={one.id}>
            <input
              type={isSingle ? 'radio' : 'checkbox'}
              checked={chosen.includes(one.id)}
              onChange={() => toggle(one.id)}
            />
            <span dir="auto">{nameOf(type, one).slice(0, 120)}</span>
          </label>
        ))}
        {found.length === 0 && <p className="muted">{texts.list.noMatch}</p>}
      </fieldset>
    </div>
  )
}

/** Those that are chosen come first, whatever is searched for. */
function useFound(to: string, text: string, chosen: readonly number[]): readonly EntityData[] {
  const type = useEntityType(to)
  const title = type?.title ?? null
  const fields = title === null ? 'id' : `id,${title}`
  const read = (key: unknown, query: object | undefined) => ({
    queryKey: ['list', to, 'names', key],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      get<Page<EntityData>>(`${to}/`, { fields, limit: MOST, ...query }, signal),
    enabled: query !== undefined,
    placeholderData: (before: Page<EntityData> | undefined) => before,
  })
  const isId = /^\d+$/.test(text.trim())
  const filter = isId
    ? `id == ${text.trim()}`
    : title === null
      ? undefined
      : `${title}.lowerAscii().contains(${JSON.stringify(text.trim().toLowerCase())})`
  const query = text.trim() === '' ? {} : type?.search && !isId ? { search: text } : { filter }
  const found = useQuery(read(query, query)).data?.data ?? []
  const kept = useQuery(
    read(chosen, chosen.length === 0 ? undefined : { filter: `id in [${chosen.slice(0, 90).join(', ')}]` }),
  )
  const first = chosen.length === 0 ? [] : (kept.data?.data ?? []).filter(({ id }) => chosen.includes(id))
  return [...first, ...found.filter(({ id }) => !first.some((one) => one.id === id))]
}
