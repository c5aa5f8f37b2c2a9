import { useQuery } from '@tanstack/react-query'
import { get } from '../../api.ts'
import { formatNumber } from '../../format.ts'
import { QueryState } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'

interface Check {
  readonly status: string
  readonly since: string
  readonly last: string | null
  readonly message: string | null
  readonly next?: string | null
  readonly holder?: string | null
}

interface HealthDetails {
  readonly status: string
  readonly version: string
  readonly format: number
  readonly checks: Readonly<Record<string, Check>>
  readonly store: Readonly<Record<string, string | number>>
  readonly feed: { readonly lag_ms: number }
}

/** How often the page is refreshed. */
const EVERY_MS = 5000

export function Health() {
  const texts = useTexts().system
  const query = useQuery({
    queryKey: ['system', 'health'],
    queryFn: ({ signal }) => get<HealthDetails>('health/details', {}, signal),
    refetchInterval: EVERY_MS,
  })
  const { data } = query
  if (data === undefined) return <QueryState query={query} />
  return (
    <div className="stack">
      <QueryState query={query} />
      <div className="figures">
        <Figure name={texts.status} value={data.status} isGood={data.status === 'ok'} />
        <Figure name={texts.version} value={data.version} />
        <Figure
          name={texts.lag}
          value={`${formatNumber(data.feed.lag_ms)} ms`}
          isGood={data.feed.lag_ms < 1000}
        />
        {Object.entries(data.store).map(([name, value]) => (
          <Figure
            key={name}
            name={texts.store[name as keyof typeof texts.store] ?? name}
            value={shown(name, value)}
          />
        ))}
      </div>
      <div className="scroll-x">
        <table className="plain">
          <thead>
            <tr>
              <th>{texts.check}</th>
              <th>{texts.status}</th>
              <th>{texts.since}</th>
              <th>{texts.last}</th>
              <th>{texts.next}</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(data.checks).map(([name, check]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>
                  <span className={check.status === 'ok' ? 'badge good' : 'badge bad'}>{check.status}</span>{' '}
                  {check.message}
                </td>
                <td>
                  <When at={check.since} />
                </td>
                <td>{check.last && <When at={check.last} />}</td>
                <td>{check.next && <When at={check.next} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly isGood?: boolean
}

export function Figure({ name, value, isGood }: FigureProps) {
  const tone = isGood === undefined ? '' : isGood ? 'good' : 'bad'
  return (
    <div className={`card figure ${tone}`}>
      <span className="muted">{name}</span>
      <strong>{value}</strong>
    </div>
  )
}

const MB = 1024 * 1024

function shown(name: string, value: string | number): string {
  if (typeof value === 'string') return value
  if (!name.endsWith('_bytes')) return formatNumber(value)
  return value > 1024 * MB
    ? `${formatNumber(Math.round(value / MB / 102.4) / 10)} GB`
    : `${formatNumber(Math.round((value / MB) * 10) / 10)} MB`
}
