import { type FormEvent, useId, useState } from 'react'
import { send } from '../api.ts'
import { explain } from '../explain.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { short } from '../parts/entity-name.tsx'
import { Icon } from '../parts/icon.tsx'
import { useTexts } from '../texts/index.ts'
import { useWrite } from '../writes.ts'
import type { Deleted } from './trash-groups.ts'

interface PurgeProps {
  readonly deleted: Deleted
  /** How many others are purged with it. */
  readonly along: number
  onClose(): void
}

/** Purges for good. Only this cannot be taken back in the console, so the name must be typed. */
export function Purge({ deleted, along, onClose }: PurgeProps) {
  const texts = useTexts()
  const write = useWrite()
  const form = useId()
  const [typed, setTyped] = useState('')
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const path = `${deleted.entity}/${deleted.id}`
  const name = short(deleted.name)
  const isRight = typed.trim() === name.trim() || typed.trim() === path
  const purge = async (event: FormEvent) => {
    event.preventDefault()
    if (!isRight || isBusy) return
    setBusy(true)
    try {
      await write(texts.trash.purged(name), async () => {
        const { body } = await send('DELETE', `${path}/`, { query: { purge: true } })
        // There is no operation that could be undone.
        return { body, headers: new Headers() }
      })
      onClose()
    } catch (error) {
      setFailure(explain(error, texts))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={texts.trash.purgeTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button tone="danger" icon="trash" type="submit" form={form} disabled={!isRight || isBusy}>
            {texts.trash.purge}
          </Button>
        </>
      }
    >
      <form id={form} className="purge" onSubmit={(event) => void purge(event)}>
        <p className="notice bad">
          <Icon name="warn" /> {texts.trash.purgeWarning}
        </p>
        <p>
          <strong>
            <bdi>{name}</bdi>
          </strong>
          {along > 0 && ` ${texts.trash.purgeAlong(along)}`}
        </p>
        <label className="field">
          <span className="label">{texts.trash.typeName}</span>
          <input
            type="text"
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <span className="hint">{texts.trash.orPath(path)}</span>
        </label>
        {failure !== undefined && (
          <p className="notice bad" role="alert">
            {failure}
          </p>
        )}
      </form>
    </Dialog>
  )
}
