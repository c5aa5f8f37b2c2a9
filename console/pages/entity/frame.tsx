import { type ReactNode, useContext } from 'react'
import { createPortal } from 'react-dom'
import { useLocation } from 'wouter'
import type { EntityData } from '../../api.ts'
import { Shown } from '../../form/shown.tsx'
import { type EntityType, labelOf } from '../../model.ts'
import { useMoment } from '../../moment.ts'
import { useKeys } from '../../parts/keys.tsx'
import { ActionSlot } from './action-slot.ts'
import { Side } from './side.tsx'

interface EntityFrameProps {
  readonly type: EntityType
  readonly data: EntityData
  readonly actions?: ReactNode
  /** Shown above the fields: that it is a past state, or deleted. */
  readonly banner?: ReactNode
  readonly mayRevert: boolean
  readonly children: ReactNode
}

/** The frame of every Entity page: actions, and beside the fields its history and referrers. */
export function EntityFrame({ type, data, actions, banner, mayRevert, children }: EntityFrameProps) {
  const [, navigate] = useLocation()
  const [at] = useMoment()
  const slot = useContext(ActionSlot)
  useKeys({
    escape: () => navigate(`/${type.name}`),
    h: () => document.getElementById('history')?.focus(),
  })
  return (
    <>
      {slot !== null && createPortal(actions, slot)}
      {banner}
      <div className="entity">
        {children}
        <Side type={type} data={data} mayRevert={mayRevert} isNow={at === undefined} />
      </div>
    </>
  )
}

/** All fields, read-only. */
export function ShownFields({ type, data }: { readonly type: EntityType; readonly data: EntityData }) {
  return (
    <dl className="shown-fields">
      {type.fields
        .filter(({ name }) => name in data)
        .map((field) => (
          <div key={field.name}>
            <dt>{labelOf(field)}</dt>
            <dd>
              <Shown kind={field} value={data[field.name]} />
            </dd>
          </div>
        ))}
    </dl>
  )
}
