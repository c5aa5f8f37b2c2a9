import { useState } from 'react'
import { Link } from 'wouter'
import type { EntityData } from '../../api.ts'
import { type EntityType, nameOf } from '../../model.ts'
import { Actor } from '../../parts/actor.tsx'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Removal } from '../../parts/removal.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'
import { EntityFrame, ShownFields } from './frame.tsx'

/** An Entity in the trash. */
export function DeletedEntity({ type, data }: { readonly type: EntityType; readonly data: EntityData }) {
  return (
    <EntityFrame type={type} data={data} mayRevert={false} banner={<DeletedBanner type={type} data={data} />}>
      <ShownFields type={type} data={data} />
    </EntityFrame>
  )
}

/** Shows who deleted the Entity, and a button to restore it. */
export function DeletedBanner({ type, data }: { readonly type: EntityType; readonly data: EntityData }) {
  const texts = useTexts()
  const [isRestoring, setRestoring] = useState(false)
  const { deletion } = data as { deletion?: { operation: string; actor: string | null } }
  return (
    <div className="entity-banner deleted" role="status">
      <Icon name="trash" />
      <p>
        {texts.history.deleted} {deletion !== undefined && <Actor actor={deletion.actor} />}{' '}
        {deletion !== undefined && typeof data.deleted_at === 'string' && (
          <Link href={`/operations/${deletion.operation}`}>
            <When at={data.deleted_at} />
          </Link>
        )}
      </p>
      <Button tone="main" icon="undo" onClick={() => setRestoring(true)}>
        {texts.remove.restore.do}
      </Button>
      {isRestoring && (
        <Removal
          target={{ entity: type.name, id: data.id, kind: 'restore' }}
          name={nameOf(type, data)}
          onClose={() => setRestoring(false)}
        />
      )}
    </div>
  )
}
