import { useQuery } from '@tanstack/react-query'
import { fromLocalInput, toLocalInput } from '../days.ts'
import { formatTime } from '../format.ts'
import { useParameter } from '../moment.ts'
import { useTexts } from '../texts/index.ts'
import { ChangedValues } from './changed-values.tsx'
import { EntityName } from './entity-name.tsx'
import { QueryState } from './states.tsx'
import { differenceBetween, type EntityDifference } from './time-bar-difference.ts'
import type { TimeBarTarget } from './time-bar-marks.ts'

/** Shows what changed between the moment that is shown and another one, by default now. */
export function Compare({ looked, from }: { readonly looked: TimeBarTarget; readonly from: string }) {
  const texts = useTexts()
  const [to, setTo] = useParameter('to')
  const [earlier, later] = to !== undefined && to < from ? [to, from] : [from, to]
  const query = useQuery({
    queryKey: ['operations', 'between', looked, earlier, later],
    queryFn: ({ signal }) => differenceBetween(looked, earlier, later, signal),
  })
  const { data } = query
  return (
    <div className="time-compare">
      <label>
        {texts.time.between(formatTime(from))}{' '}
        <input
          type="datetime-local"
          step="1"
          value={toLocalInput(to)}
          onChange={(event) => setTo(fromLocalInput(event.target.value))}
        />{' '}
        {to === undefined && <span className="muted">({texts.time.now})</span>}
      </label>
      <QueryState query={query} />
      {data !== undefined && data.all.length === 0 && <p className="muted">{texts.time.same}</p>}
      {data !== undefined && KINDS.map((kind) => <OfKind key={kind} kind={kind} all={data.all} />)}
      {data?.isPartial && <p className="muted">{texts.time.partial}</p>}
    </div>
  )
}

const KINDS = ['create', 'restore', 'update', 'delete'] as const

function OfKind({
  kind,
  all,
}: {
  readonly kind: EntityDifference['kind']
  readonly all: readonly EntityDifference[]
}) {
  const texts = useTexts()
  const some = all.filter((one) => one.kind === kind)
  if (some.length === 0) return null
  return (
    <section className={`outcome ${kind}`}>
      <h2>
        {texts.operations.kinds[kind]} ({some.length})
      </h2>
      <ul className={kind === 'update' ? '' : 'inline'}>
        {some.map((one) => (
          <li key={one.id}>
            <EntityName entity={one.entity} id={one.id} />
            {kind === 'update' && <ChangedValues entity={one.entity} changed={one.changed} most={10} />}
          </li>
        ))}
      </ul>
    </section>
  )
}
