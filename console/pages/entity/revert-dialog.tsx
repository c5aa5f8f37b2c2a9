import { useQueryClient } from '@tanstack/react-query'
import type { ApiRequest } from '../../../client/transport.ts'
import { send } from '../../api.ts'
import { explain } from '../../explain.ts'
import type { EntityType } from '../../model.ts'
import { useParameter } from '../../moment.ts'
import { Button } from '../../parts/button.tsx'
import { ChangedValues } from '../../parts/changed-values.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import type { RemovalPreview } from '../../parts/removal-call.ts'
import { Loading } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { usePlanned } from '../../planned.ts'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'

interface RevertDialogProps {
  readonly type: EntityType
  readonly id: number
  /** The version to revert to. */
  readonly entry: { readonly version: number; readonly at: string }
  onClose(): void
}

/** Shows what a revert would change, then does exactly that. */
export function RevertDialog({ type, id, entry, onClose }: RevertDialogProps) {
  const texts = useTexts()
  const { preview, failure, isBusy, run } = useRevert(type.name, id, entry.version)
  const [, setMoment] = useParameter('at')
  const revert = async () => {
    if ((await run()) === undefined) return
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
  const revert = (query: object, more: ApiRequest = {}) =>
    send('POST', `${entity}/${id}/revert/`, { query, body: { version }, ...more })
  return usePlanned<RemovalPreview>({
    key: ['revert', entity, id, version],
    read: async () => (await revert({ dry_run: true }, { repeat: 'always' })).body as RemovalPreview,
    async perform({ plan }) {
      const received = await write(texts.history.reverted, () => revert({ plan }))
      // The form shows the new state at once.
      queries.setQueryData(['entity', entity, id, { at: undefined }], received.body)
      return received
    },
  })
}
