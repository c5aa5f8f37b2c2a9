import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type EntityData, get, type Page } from '../../api.ts'
import { type EntityType, labelOf, useModel } from '../../model.ts'
import { Actor } from '../../parts/actor.tsx'
import { EntityName } from '../../parts/entity-name.tsx'
import { filterFor, type Referrer } from '../../parts/referrers.ts'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'
import { History } from './history.tsx'
import { entriesOf, useHistory } from './use-history.ts'

interface SideProps {
  readonly type: EntityType
  readonly data: EntityData
  readonly mayRevert: boolean
  /** Whether the current state is shown: referrers are not known for the past. */
  readonly isNow: boolean
}

/** The column beside the fields: id, version and times, referrers, history. */
export function Side({ type, data, mayRevert, isNow }: SideProps) {
  const { id, version } = data
  const hasHistory = type.may.history !== false
  return (
    <aside className="entity-side">
      <Meta type={type} data={data} hasHistory={hasHistory} />
      {isNow && <Referrers type={type} id={id} />}
      {hasHistory && <History type={type} id={id} version={version} mayRevert={mayRevert} />}
    </aside>
  )
}

function Meta({
  type,
  data,
  hasHistory,
}: Pick<SideProps, 'type' | 'data'> & { readonly hasHistory: boolean }) {
  const texts = useTexts()
  const entries = entriesOf(useHistory(type.name, data.id, hasHistory).data)
  const newest = entries.find(({ version }) => version === data.version)
  const first = entries.find(({ kind }) => kind === 'create')
  const rows: [label: string, value: ReactNode][] = [
    [texts.entity.meta.id, `${type.name}/${data.id}`],
    [texts.entity.meta.version, data.version],
    [texts.entity.meta.created, <Stamp key="created" at={data.created_at} actor={first?.actor} />],
    [texts.entity.meta.updated, <Stamp key="updated" at={data.updated_at} actor={newest?.actor} />],
  ]
  return (
    <dl className="side-part meta">
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Stamp({ at, actor }: { readonly at: string; readonly actor: string | null | undefined }) {
  return (
    <>
      <When at={at} />
      {actor !== undefined && (
        <>
          {' · '}
          <Actor actor={actor} />
        </>
      )}
    </>
  )
}

function Referrers({ type, id }: { readonly type: EntityType; readonly id: number }) {
  const texts = useTexts()
  const { entities } = useModel()
  const known = type.referrers.flatMap((referrer) => {
    const from = entities.find(({ name }) => name === referrer.entity)
    return from === undefined || from.may.list === false ? [] : [{ referrer, from }]
  })
  if (known.length === 0) return null
  return (
    <section className="side-part" aria-label={texts.entity.referrers}>
      <h2>{texts.entity.referrers}</h2>
      {known.map(({ referrer, from }) => (
        <ReferrerRow key={`${referrer.entity}.${referrer.path}`} referrer={referrer} from={from} id={id} />
      ))}
    </section>
  )
}

const FIRST = 3

interface ReferrerRowProps {
  readonly referrer: Referrer
  readonly from: EntityType
  readonly id: number
}

function ReferrerRow({ referrer, from, id }: ReferrerRowProps) {
  const filter = filterFor(referrer, id)
  const { data } = useQuery({
    queryKey: ['list', from.name, 'referrers', filter],
    queryFn: ({ signal }) =>
      get<Page<EntityData>>(
        `${from.name}/`,
        { filter, count: true, limit: FIRST, sort: '-id', fields: 'id' },
        signal,
      ),
  })
  return (
    <div className="referrer">
      <Link href={`/${from.name}?filter=${encodeURIComponent(filter)}`}>
        {labelOf(from)} <span className="muted">{referrer.path}</span>
      </Link>
      <span className="badge">{data?.total ?? '…'}</span>
      {data !== undefined && data.data.length > 0 && (
        <ul>
          {data.data.map((one) => (
            <li key={one.id}>
              <EntityName entity={from.name} id={one.id} isBeside />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
