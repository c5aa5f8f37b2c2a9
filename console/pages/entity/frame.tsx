import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { EntityData } from '../../api.ts'
import { Shown } from '../../form/shown.tsx'
import { type EntityType, labelOf, nameOf } from '../../model.ts'
import { useMoment } from '../../moment.ts'
import { short } from '../../parts/entity-name.tsx'
import { useKeys } from '../../parts/keys.tsx'
import { Page } from '../../parts/page.tsx'
import { Side } from './side.tsx'

interface EntityFrameProps {
  readonly type: EntityType
  readonly data: EntityData
  readonly actions?: ReactNode
  /** What is special about it: a past state, deleted. */
  readonly banner?: ReactNode
  readonly mayRevert: boolean
  readonly children: ReactNode
}

/** What is around every Entity: its name, what can be done, and beside it what is known about it. */
export function EntityFrame({ type, data, actions, banner, mayRevert, children }: EntityFrameProps) {
  const [, navigate] = useLocation()
  const [at] = useMoment()
  useKeys({
    escape: () => navigate(`/${type.name}`),
    h: () => document.getElementById('history')?.focus(),
  })
  return (
    <Page
      title={short(nameOf(type, data))}
      above={<Link href={`/${type.name}`}>{labelOf(type)}</Link>}
      actions={actions}
    >
      {banner}
      <div className="entity">
        {children}
        <Side type={type} data={data} mayRevert={mayRevert} isNow={at === undefined} />
      </div>
    </Page>
  )
}

/** All fields, only to be read. */
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
