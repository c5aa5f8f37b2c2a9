import { useState } from 'react'
import { explain } from '../../explain.ts'
import { formatNumber } from '../../format.ts'
import { labelOf } from '../../model.ts'
import { Menu } from '../../parts/menu.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Format } from './export.ts'
import type { ListPart } from './list-part.ts'

/** Downloads everything that the list shows, or the selected rows, as a file. */
export function ExportMenu({ isSelected, ...part }: ListPart & { readonly isSelected: boolean }) {
  const texts = useTexts()
  const { run, count } = useExport(part, isSelected)
  return (
    <Menu label={texts.list.export} icon="export" tone="plain" group={labelOf(part.type)}>
      {(close) =>
        count !== undefined ? (
          <p role="status">{texts.list.exporting(formatNumber(count))}</p>
        ) : (
          (['csv', 'json'] as const).map((format) => (
            <button key={format} type="button" onClick={() => void run(format).then(close)}>
              {texts.list.exportAs[format]}
            </button>
          ))
        )
      }
    </Menu>
  )
}

function useExport({ type, view, request, columns, selecting }: ListPart, isSelected: boolean) {
  const texts = useTexts()
  const [count, setCount] = useState<number>()
  const run = async (format: Format) => {
    setCount(0)
    try {
      const { download, exportFile } = await import('./export.ts')
      const what = {
        entity: type.name,
        view,
        sort: request.query.sort,
        columns: columns.shown,
        ...(isSelected && { selection: selecting }),
      }
      download(await exportFile(what, format, setCount), `${type.name}.${format}`)
    } catch (error) {
      showToast({ text: explain(error, texts), tone: 'bad' })
    } finally {
      setCount(undefined)
    }
  }
  return { run, count }
}
