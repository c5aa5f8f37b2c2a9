import { useCallback, useMemo, useState } from 'react'
import { type EntityType, useModel } from '../../model.ts'
import type { FilterField } from '../../parts/filter/conditions.ts'
import { useKeep, usePreferences } from '../../preferences.ts'
import { useTexts } from '../../texts/index.ts'
import { type Column, columnsOf, defaultColumns, readColumns, writeColumns } from './columns.ts'
import { useView } from './view.ts'

export interface ChosenColumns {
  readonly all: readonly Column[]
  readonly shown: readonly Column[]
  readonly isDefault: boolean
  /** The user's own columns, in the format of the address. */
  readonly own: string | undefined
  /** The fields that can be filtered by. */
  readonly filters: readonly FilterField[]
  choose(columns: readonly Column[] | undefined): void
  move(from: number, to: number): void
  size(at: number, width: number, isDone: boolean): void
}

/** Returns the columns of a list: those of the address, the user's own, or the default. */
export function useColumns(type: EntityType): ChosenColumns {
  const texts = useTexts()
  const { chosen, own, keep } = useChosen(type.name)
  const [dragged, setDragged] = useState<{ readonly at: number; readonly width: number }>()
  const model = useModel()
  const all = useMemo(() => columnsOf(type, model, texts), [type, model, texts])
  const kept = useMemo(() => readColumns(chosen, all) ?? defaultColumns(type, all), [chosen, all, type])
  const shown = useMemo(
    () => (dragged === undefined ? kept : sized(kept, dragged.at, dragged.width)),
    [kept, dragged],
  )
  const choose = useCallback(
    (columns: readonly Column[] | undefined) =>
      keep(columns === undefined ? undefined : writeColumns(columns, all)),
    [keep, all],
  )
  return useMemo(
    () => ({
      all,
      shown,
      filters: all.filter(({ isFilterable }) => isFilterable),
      isDefault: chosen === undefined,
      own,
      choose,
      move: (from, to) => choose(moved(kept, from, to)),
      size: (at, width, isDone) => {
        setDragged(isDone ? undefined : { at, width })
        if (isDone) choose(sized(kept, at, width))
      },
    }),
    [all, shown, kept, chosen, own, choose],
  )
}

/**
 * Returns the chosen columns of a type. If the address has columns, or preferences cannot be stored, a change goes into
 * the address. Otherwise it is stored in the user's preferences.
 */
function useChosen(entity: string) {
  const [{ columns }, change] = useView()
  const preferences = usePreferences()
  const keepAll = useKeep()
  // A ticked box shows at once, before it is stored.
  const [latest, setLatest] = useState<{ readonly own: string | undefined }>()
  const kept: unknown = preferences?.columns?.[entity]
  const own = latest === undefined ? (typeof kept === 'string' ? kept : undefined) : latest.own
  const canKeep = preferences !== null
  const keep = useCallback(
    (next: string | undefined) => {
      if (columns !== undefined || !canKeep) return change({ columns: next })
      setLatest({ own: next })
      keepAll((was) => ({ ...was, columns: without({ ...was.columns, [entity]: next }) })).catch(() => {
        setLatest(undefined)
        change({ columns: next })
      })
    },
    [columns, canKeep, change, keepAll, entity],
  )
  return { chosen: columns ?? own, own, keep }
}

function without(columns: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(columns).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function sized(columns: readonly Column[], at: number, width: number): readonly Column[] {
  return columns.map((column, place) => (place === at ? { ...column, width } : column))
}

function moved(columns: readonly Column[], from: number, to: number): readonly Column[] {
  const column = columns[from]
  if (column === undefined || to < 0 || to >= columns.length) return columns
  const others = columns.filter((one) => one !== column)
  return [...others.slice(0, to), column, ...others.slice(to)]
}
