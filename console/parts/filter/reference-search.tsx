import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { type EntityData, get, type Page } from '../../api.ts'
import { byName } from '../../find-by-name.ts'
import { nameOf, useEntityType } from '../../model.ts'
import { namingFields } from '../../names.ts'
import { useTexts } from '../../texts/index.ts'

interface ReferenceSearchProps {
  readonly to: string
  readonly chosen: readonly number[]
  /** Whether only one can be chosen. */
  readonly isSingle?: boolean
  onChange(chosen: readonly number[]): void
}

const MOST = 30

/** Finds Entities of another type by name. */
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

/** Chosen Entities come first, whatever the search. */
function useFound(to: string, text: string, chosen: readonly number[]): readonly EntityData[] {
  const type = useEntityType(to)
  const read = (key: unknown, query: object | undefined) => ({
    queryKey: ['list', to, 'names', key],
    queryFn: ({ signal }: { signal: AbortSignal }) => get<Page<EntityData>>(`${to}/`, query ?? {}, signal),
    enabled: query !== undefined,
    placeholderData: (before: Page<EntityData> | undefined) => before,
  })
  const found = useQuery(read(text.trim(), type && byName(type, text, MOST))).data?.data ?? []
  const few = chosen.slice(0, 90)
  const fields = ['id', ...(type === undefined ? [] : namingFields(type))].join(',')
  const kept = useQuery(
    read(few, few.length === 0 ? undefined : { fields, limit: MOST, filter: `id in [${few.join(', ')}]` }),
  )
  const first = chosen.length === 0 ? [] : (kept.data?.data ?? []).filter(({ id }) => chosen.includes(id))
  return [...first, ...found.filter(({ id }) => !first.some((one) => one.id === id))]
}
