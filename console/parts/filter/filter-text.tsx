import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiError, get } from '../../api.ts'
import { explain, fieldErrors } from '../../explain.ts'
import type { EntityType } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'
import { Button } from '../button.tsx'
import { useDebounced } from '../use-debounced.ts'
import { CelInput } from './cel-input.tsx'

interface FilterTextProps {
  readonly type: EntityType
  readonly filter: string | undefined
  readonly autoFocus: boolean
  onChange(filter: string | undefined): void
}

const PAUSE_MS = 300

/** The filter as text. The API checks it while the user types; Enter applies it. */
export default function FilterText({ type, filter = '', autoFocus, onChange }: FilterTextProps) {
  const texts = useTexts()
  const [text, setText] = useState(filter)
  const asked = useDebounced(text, PAUSE_MS)
  useEffect(() => setText(filter), [filter])
  const { error } = useQuery({
    queryKey: ['list', type.name, 'check', asked],
    queryFn: ({ signal }) => get(`${type.name}/`, { filter: asked, limit: 1, fields: 'id' }, signal),
    enabled: asked.trim() !== '',
    retry: false,
  })
  const wrong =
    error instanceof ApiError ? (fieldErrors(error).filter?.join(' ') ?? explain(error, texts)) : undefined
  const shown = asked === text ? wrong : undefined
  const apply = () => {
    if (shown === undefined) onChange(text.trim() === '' ? undefined : text.trim())
  }
  return (
    <>
      <CelInput
        type={type}
        value={text}
        error={shown}
        onChange={setText}
        autoFocus={autoFocus}
        onApply={apply}
      />
      <Button tone={text.trim() === filter ? 'plain' : 'main'} disabled={shown !== undefined} onClick={apply}>
        {texts.list.apply}
      </Button>
    </>
  )
}
