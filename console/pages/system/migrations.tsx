import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { get } from '../../api.ts'
import { QueryState } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'

interface MigrationState {
  readonly applied: readonly {
    readonly at: string
    readonly operation: string | null
    readonly entity: string
    readonly path: string | null
    readonly change: { readonly kind: string }
  }[]
  readonly aside: readonly { readonly path: string; readonly what: string }[]
  readonly plan: readonly { readonly path: string; readonly what: string; readonly effect: string }[]
  readonly format: number
}

/** Shows past migrations, columns and tables kept aside, and what a start would do now. */
export function Migrations() {
  const texts = useTexts().system
  const query = useQuery({
    queryKey: ['system', 'migrations'],
    queryFn: ({ signal }) => get<MigrationState>('system/migrations/', {}, signal),
  })
  const { data } = query
  if (data === undefined) return <QueryState query={query} />
  return (
    <div className="stack">
      <QueryState query={query} />
      <section>
        <h2>{texts.plan}</h2>
        {data.plan.length === 0 ? (
          <p className="muted">{texts.noPlan}</p>
        ) : (
          <ul className="rows">
            {data.plan.map(({ path, what, effect }) => (
              <li key={`${path} ${what}`}>
                <span>
                  <code>{path}</code> {what}
                </span>
                <span className={effect === 'refused' ? 'badge bad' : 'badge'}>{effect}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section>
        <h2>{texts.keptAside}</h2>
        <p className="muted">{texts.keptAsideHelp}</p>
        <ul>
          {data.aside.map(({ path, what }) => (
            <li key={path}>
              <code>{path}</code> {what}
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>{texts.applied}</h2>
        <ul>
          {data.applied.map(({ at, operation, entity, path, change }) => (
            <li key={`${at} ${entity} ${path} ${change.kind}`}>
              <When at={at} /> <code>{[entity, path].filter(Boolean).join('.')}</code> {change.kind}{' '}
              {operation !== null && <Link href={`/operations/${operation}`}>{texts.operation}</Link>}
            </li>
          ))}
        </ul>
        {data.applied.length === 0 && <p className="muted">{texts.noneApplied}</p>}
      </section>
    </div>
  )
}
