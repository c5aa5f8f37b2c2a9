import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { When } from '../parts/when.tsx'
import { useTexts } from '../texts/index.ts'
import { haveSecrets } from './kept-draft.ts'
import type { FormState, Kept } from './state.ts'

interface KeptNoticeProps {
  readonly kept: Kept
  readonly fields: FormState['fields']
  restore(): void
  discard(): void
}

/** Offers to restore the draft from before the page was reloaded. */
export function KeptNotice({ kept, fields, restore, discard }: KeptNoticeProps) {
  const texts = useTexts()
  return (
    <div className="form-notice" role="status">
      <Icon name="edit" />
      <p>
        {texts.entity.kept.found} <When at={kept.at} />
        {haveSecrets(fields) && ` ${texts.entity.kept.noSecrets}`}
      </p>
      <Button onClick={restore}>{texts.entity.kept.restore}</Button>
      <Button tone="plain" onClick={discard}>
        {texts.entity.kept.discard}
      </Button>
    </div>
  )
}
