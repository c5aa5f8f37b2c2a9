import { lazy, Suspense, useMemo, useState } from 'react'
import { formatNumber } from '../../format.ts'
import { labelOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { type Command, useCommands } from '../../parts/palette.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Bulk } from './bulk.ts'
import { ExportMenu } from './export-menu.tsx'
import type { ListPart } from './list-part.ts'

const BulkDialog = lazy(() => import('./bulk-dialogs.tsx'))

/** The actions for the selected rows. It lies above the grid, so that nothing moves. */
export function SelectionBar(part: ListPart) {
  const { type, view, total, selecting } = part
  const texts = useTexts()
  const [kind, setKind] = useState<Bulk['kind']>()
  const possible = usePossible(part)
  useBulkCommands(part, possible, setKind)
  if (selecting.isEmpty) return null
  const count = selecting.isAll ? total : selecting.ids.size
  return (
    <section
      className="selection-bar"
      aria-label={texts.list.selected(count === undefined ? '' : formatNumber(count))}
    >
      <strong role="status">{texts.list.selected(count === undefined ? '…' : formatNumber(count))}</strong>
      {!selecting.isAll && total !== undefined && total > selecting.ids.size && (
        <Button tone="plain" onClick={selecting.chooseAll}>
          {texts.list.selectAll(formatNumber(total))}
        </Button>
      )}
      {possible.map((one) => (
        <Button
          key={one}
          icon={ICONS[one]}
          {...(one === 'delete' && { tone: 'danger' })}
          onClick={() => setKind(one)}
        >
          {texts.list.bulk.act[one]}
        </Button>
      ))}
      <ExportMenu {...part} isSelected />
      <Button icon="close" tone="plain" aria-label={texts.list.selectNone} onClick={selecting.clear} />
      {kind !== undefined && (
        <Suspense>
          <BulkDialog
            type={type}
            chosen={{ entity: type.name, selection: selecting, view }}
            kind={kind}
            count={count}
            onClose={() => setKind(undefined)}
            onDone={() => {
              setKind(undefined)
              selecting.clear()
            }}
          />
        </Suspense>
      )}
    </section>
  )
}

const ICONS = { update: 'edit', delete: 'trash', restore: 'undo' } as const

/** Nothing can be changed in the past, and deleted Entities can only be restored. */
function usePossible({ type, view }: ListPart): readonly Bulk['kind'][] {
  return useMemo(() => {
    if (view.at !== undefined) return []
    if (view.trashed === 'only') return type.may.restore === false ? [] : ['restore']
    const both = ['update', 'delete'] as const
    return both.filter((kind) => type.may[kind] !== false)
  }, [type, view])
}

function useBulkCommands(
  { type, selecting }: ListPart,
  possible: readonly Bulk['kind'][],
  open: (kind: Bulk['kind']) => void,
): void {
  const texts = useTexts()
  const { isEmpty } = selecting
  const commands = useMemo((): Command[] => {
    if (isEmpty) return []
    return possible.map((kind) => ({
      id: `list ${kind}`,
      title: texts.list.bulk.title[kind],
      group: labelOf(type),
      icon: ICONS[kind],
      run: () => open(kind),
    }))
  }, [isEmpty, possible, texts, type, open])
  useCommands(commands)
}
