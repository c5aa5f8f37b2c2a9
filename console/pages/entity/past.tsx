import { useState } from 'react'
import type { EntityData } from '../../api.ts'
import type { EntityType } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useTexts } from '../../texts/index.ts'
import { EntityFrame, ShownFields } from './frame.tsx'
import { RevertDialog } from './revert-dialog.tsx'

interface PastEntityProps {
  readonly type: EntityType
  readonly data: EntityData
  readonly at: string
}

/** An Entity as it was: read-only, with a button to bring that state back. */
export function PastEntity({ type, data, at }: PastEntityProps) {
  const texts = useTexts()
  const [isReverting, setReverting] = useState(false)
  const mayRevert = type.may.update !== false && type.may.history !== false
  const banner = (
    <div className="entity-banner past" role="status">
      <Icon name="clock" />
      <p>{texts.history.past}</p>
      {mayRevert && (
        <Button icon="undo" onClick={() => setReverting(true)}>
          {texts.history.revert}
        </Button>
      )}
    </div>
  )
  return (
    <EntityFrame type={type} data={data} mayRevert={mayRevert} banner={banner}>
      <ShownFields type={type} data={data} />
      {isReverting && (
        <RevertDialog
          type={type}
          id={data.id}
          entry={{ version: data.version, at }}
          onClose={() => setReverting(false)}
        />
      )}
    </EntityFrame>
  )
}
