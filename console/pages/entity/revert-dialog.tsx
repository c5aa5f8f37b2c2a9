import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { PlanChanged, send } from '../../api.ts'
import { explain } from '../../explain.ts'
import type { EntityType } from '../../model.ts'
import { useParameter } from '../../moment.ts'
import { Button } from '../../parts/button.tsx'
import { ChangedValues } from '../../parts/changed-values.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import type { RemovalPreview } from '../../parts/removal-call.ts'
import { Loading } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'

interface RevertDialogProps {
  readonly type: EntityType
  readonly id: number
  /** The version to go back to. */
  readonly entry: { readonly version: number; readonly at: string }
  onClose(): void
}

/** Shows what a revert changes, then does exactly that. */
export function RevertDialog({ type, id, entry, onClose }: RevertDialogProps) {
  const texts = useTexts()
  const { preview, failure, isBusy, run } = useRevert(type.name, id, entry.version)
  const [, setMoment] = useParameter('at')
  const revert = async () => {
    if (!(await run())) return
    onClose()
    setMoment(undefined)
  }
  const change = preview?.changes.find((one) => one.entity === type.name && one.id === id)
  return (
    <Dialog
      title={texts.history.revertTitle}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button
            tone="main"
            icon="undo"
            disabled={preview === undefined || preview.total === 0 || isBusy}
            onClick={() => void revert()}
          >
            {texts.history.revertDo}
          </Button>
        </>
      }
    >
      <div className="removal">
        <p>
          {texts.history.revertIntro} <When at={entry.at} />
        </p>
        {preview === undefined && failure === undefined && <Loading />}
        {preview?.total === 0 && <p className="muted">{texts.history.revertNothing}</p>}
        {change !== undefined && <ChangedValues entity={type.name} changed={change.changed} />}
        {failure !== undefined && (
          <p className="against" role="alert">
            {explain(failure, texts)}
          </p>
        )}
      </div>
    </Dialog>
  )
}

function useRevert(entity: string, id: number, version: number) {
  const texts = useTexts()
  const write = useWrite()
  const queries = useQueryClient()
  const [renewed, setRenewed] = useState<RemovalPreview>()
  const [refusal, setRefusal] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const call = { path: `${entity}/${id}/revert/`, body: { version } }
  const { data, error } = useQuery({
    queryKey: ['revert', entity, id, version],
    queryFn: async () => {
      const { body } = await send('POST', call.path, {
        query: { dry_run: true },
        body: call.body,
        repeat: 'always',
      })
      return body as RemovalPreview
    },
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  const failure = refusal ?? error ?? undefined
  const preview = failure === undefined ? (renewed ?? data) : undefined
  const run = async (): Promise<boolean> => {
    if (preview === undefined) return false
    setBusy(true)
    try {
      const { body } = await write(texts.history.reverted, () =>
        send('POST', call.path, { query: { plan: preview.plan }, body: call.body }),
      )
      // The form opens with it at once.
      queries.setQueryData(['entity', entity, id, { at: undefined }], body)
      return true
    } catch (thrown) {
      if (thrown instanceof PlanChanged) setRenewed(thrown.preview as RemovalPreview)
      else setRefusal(thrown)
      return false
    } finally {
      setBusy(false)
    }
  }
  return { preview, failure, isBusy, run }
}
