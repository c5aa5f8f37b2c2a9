import type { ReactNode } from 'react'
import { ApiError } from '../../api.ts'
import { explain } from '../../explain.ts'
import { formatNumber } from '../../format.ts'
import { labelOf, useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { ChangeList, countable } from '../../parts/change-list.tsx'
import { Loading } from '../../parts/states.tsx'
import { usePlanned, wholePreview } from '../../planned.ts'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'
import {
  type Bulk,
  type BulkPreview,
  type Chosen,
  MOST_IN_BATCH,
  previewBulk,
  runBulk,
  TooManySelected,
} from './bulk.ts'

interface BulkDoing {
  readonly preview: BulkPreview | undefined
  readonly failure: unknown
  /** Whether the data has changed since the preview, which is then shown again. */
  readonly hasMoved: boolean
  readonly isBusy: boolean
  run(): Promise<boolean>
}

/** Shows what would be done, then does exactly that. `bulk` is undefined while the user is choosing. */
export function useBulk(chosen: Chosen, bulk: Bulk | undefined, done: (total: number) => string): BulkDoing {
  const write = useWrite()
  const { ids, isAll } = chosen.selection
  const wanted = bulk ?? NOTHING
  const read = (cursor?: string) => previewBulk(chosen, wanted, cursor)
  const { run, ...planned } = usePlanned<BulkPreview>({
    key: ['bulk', chosen.entity, [...ids], isAll, chosen.view, wanted],
    isEnabled: bulk !== undefined,
    read: () => wholePreview(read),
    perform: ({ total, plan }) => write(done(total), () => runBulk(chosen, wanted, plan)),
  })
  return { ...planned, run: async () => (await run()) !== undefined }
}

const NOTHING: Bulk = { kind: 'update', body: {} }

/** Shows what would happen, in words, with the first Entities. */
export function BulkOutcome({ doing }: { readonly doing: BulkDoing }): ReactNode {
  const texts = useTexts()
  const { preview, failure } = doing
  if (failure !== undefined && failure !== null) return <Refused failure={failure} />
  if (preview === undefined) return <Loading />
  const shown = preview.changes.slice(0, MOST_SHOWN)
  return (
    <div className="bulk-outcome">
      {doing.hasMoved && <p className="wrong">{texts.list.bulk.moved}</p>}
      {preview.total === 0 && <p>{texts.list.bulk.nothing}</p>}
      <Counts preview={preview} />
      <ChangeList changes={shown} />
      {preview.total > shown.length && (
        <p className="muted">{texts.list.bulk.more(formatNumber(preview.total - shown.length))}</p>
      )}
    </div>
  )
}

const MOST_SHOWN = 12

/** Says "12 Orders are deleted". If there is more than a page of changes, only the sum is known. */
function Counts({ preview }: { readonly preview: BulkPreview }) {
  const texts = useTexts()
  const { entities } = useModel()
  const { changes, total } = preview
  if (total > changes.length) return <p>{texts.list.bulk.total(formatNumber(total))}</p>
  const groups = Map.groupBy(changes, ({ entity, kind }) => `${kind} ${entity}`)
  return (
    <ul className="counts">
      {[...groups].map(([name, some]) => {
        const [first] = some
        const type = entities.find((one) => one.name === first?.entity)
        const label = type === undefined ? (first?.entity ?? '') : labelOf(type)
        return (
          <li key={name}>
            {texts.list.bulk.counts[countable(first?.kind ?? '')](formatNumber(some.length), label)}
          </li>
        )
      })}
    </ul>
  )
}

function Refused({ failure }: { readonly failure: unknown }) {
  const texts = useTexts()
  const errors = failure instanceof ApiError ? Object.entries(failure.errors ?? {}) : []
  return (
    <div className="bulk-outcome" role="alert">
      <p className="wrong">
        {failure instanceof TooManySelected
          ? texts.list.bulk.tooMany(formatNumber(MOST_IN_BATCH))
          : failure instanceof ApiError
            ? failure.message
            : explain(failure, texts)}
      </p>
      <ul>
        {errors.slice(0, MOST_SHOWN).map(([path, messages]) => (
          <li key={path}>
            <code>{path}</code> {messages.join('; ')}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The buttons of a dialog with a preview. */
export function BulkButtons({
  doing,
  text,
  tone = 'main',
  onClose,
  onDone,
}: {
  readonly doing: BulkDoing
  readonly text: string
  readonly tone?: 'main' | 'danger'
  onClose(): void
  onDone(): void
}) {
  const texts = useTexts()
  const run = async () => {
    if (await doing.run()) onDone()
  }
  const isReady = doing.preview !== undefined && doing.preview.total > 0 && !doing.failure && !doing.isBusy
  return (
    <>
      <Button onClick={onClose}>{texts.cancel}</Button>
      <Button tone={tone} disabled={!isReady} onClick={() => void run()}>
        {text}
      </Button>
    </>
  )
}
