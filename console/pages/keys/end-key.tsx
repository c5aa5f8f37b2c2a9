import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api.ts'
import { explain } from '../../explain.ts'
import { formatNumber } from '../../format.ts'
import { Button } from '../../parts/button.tsx'
import { ChangeList, type PlannedChange } from '../../parts/change-list.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'
import type { Key } from './key.ts'

interface Preview {
  readonly undone: number
  readonly total: number
  readonly plan: string
  readonly changes: readonly PlannedChange[]
}

const MOST_SHOWN = 10

/** Ends a key. On request, also takes back everything it did since a time, after a preview. */
export function EndKey({ of: key, onClose }: { readonly of: Key; onClose(): void }) {
  const texts = useTexts()
  const queries = useQueryClient()
  const write = useWrite()
  const [since, setSince] = useState<string>()
  const [preview, setPreview] = useState<Preview>()
  const [failure, setFailure] = useState<string>()
  const end = async (query: object, done: string) => {
    try {
      await write(done, () => send('DELETE', `auth/keys/${key.id}/`, { query }))
      await queries.invalidateQueries({ queryKey: ['auth', 'keys'] })
      onClose()
    } catch (error) {
      setFailure(explain(error, texts))
    }
  }
  const look = useSubmit(async ({ since: local }) => {
    const from = local ? new Date(local).toISOString() : undefined
    const query = { undo: true, dry_run: true, since: from }
    const { body } = await send('DELETE', `auth/keys/${key.id}/`, { repeat: 'always', query })
    setSince(from)
    setPreview(body as Preview)
  })
  return (
    <Dialog
      title={texts.keys.endTitle(key.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button tone="danger" onClick={() => void end({}, texts.keys.ended(key.name))}>
            {texts.keys.end}
          </Button>
          {preview !== undefined && (
            <Button
              tone="danger"
              onClick={() =>
                void end({ undo: true, since, plan: preview.plan }, texts.keys.endedAndUndone(key.name))
              }
            >
              {texts.keys.endAndUndo}
            </Button>
          )}
        </>
      }
    >
      <div className="stack">
        <p>{texts.keys.endHelp}</p>
        <form className="stack" onSubmit={look.submit}>
          <FormField
            label={texts.keys.since}
            name="since"
            type="datetime-local"
            hint={texts.keys.sinceHint}
          />
          <Button type="submit" disabled={look.isBusy}>
            {texts.keys.look}
          </Button>
        </form>
        {look.failure !== undefined && <p role="alert">{look.failure}</p>}
        {preview !== undefined && (
          <>
            <p role="status">{texts.keys.wouldUndo(preview.undone, preview.total)}</p>
            <ChangeList changes={preview.changes.slice(0, MOST_SHOWN)} />
            {preview.total > MOST_SHOWN && (
              <p className="muted">{texts.list.bulk.more(formatNumber(preview.total - MOST_SHOWN))}</p>
            )}
          </>
        )}
        {failure !== undefined && <p role="alert">{failure}</p>}
      </div>
    </Dialog>
  )
}
