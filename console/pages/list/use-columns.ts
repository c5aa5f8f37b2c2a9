import { useCallback, useMemo, useState } from 'react'
import { type EntityType, useModel } from '../../model.ts'
import type { FilterField } from '../../parts/filter/conditions.ts'
import { useTexts } from '../../texts/index.ts'
import { type Column, columnsOf, defaultColumns, readColumns, writeColumns } from './columns.ts'
import { useView } from './view.ts'

export interface ChosenColumns {
  readonly all: readonly Column[]
  readonly shown: readonly Column[]
  readonly isDefault: boolean
  /** What can be filtered by. */
  readonly filters: readonly FilterField[]
  choose(columns: readonly Column[] | undefined): void
  move(from: number, to: number): void
  size(at: number, width: number, isDone: boolean): void
}

/** The columns of a list: as the address says, or what suits the type. */
export function useColumns(type: EntityType): ChosenColumns {
  const texts = useTexts()
  const [{ columns: chosen }, change] = useView()
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
      change({ columns: columns === undefined ? undefined : writeColumns(columns, all) }),
    [change, all],
  )
  return useMemo(
    () => ({
      all,
      shown,
      filters: all.filter(({ isFilterable }) => isFilterable),
      isDefault: chosen === undefined,
      choose,
      move: (from, to) => choose(moved(kept, from, to)),
      size: (at, width, isDone) => {
        setDragged(isDone ? undefined : { at, width })
        if (isDone) choose(sized(kept, at, width))
      },
    }),
    [all, shown, kept, chosen, choose],
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
