import { useQuery } from '@tanstack/react-query'
import { get } from '../../api.ts'
import { formatNumber, formatTime } from '../../format.ts'
import { QueryState } from '../../parts/states.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'

interface RequestFigures {
  readonly since: string
  readonly endpoints: readonly {
    readonly method: string
    readonly path: string
    readonly count: number
    readonly errors: number
    readonly p50_ms: number
    readonly p95_ms: number
    readonly max_ms: number
  }[]
  readonly minutes: readonly Minute[]
  readonly slow: readonly { readonly at: string; readonly ms: number; readonly statement: string }[]
}

interface Minute {
  readonly at: string
  readonly count: number
  readonly errors: number
  readonly p95_ms: number
}

const EVERY_MS = 10_000

/** Statistics of the requests that this instance has answered since its start. */
export function Requests() {
  const texts = useTexts().system
  const query = useQuery({
    queryKey: ['system', 'requests'],
    queryFn: ({ signal }) => get<RequestFigures>('system/requests/', {}, signal),
    refetchInterval: EVERY_MS,
  })
  const { data } = query
  if (data === undefined) return <QueryState query={query} />
  return (
    <div className="stack">
      <QueryState query={query} />
      <p className="muted">
        {texts.requestsHelp} <When at={data.since} />
      </p>
      <Minutes minutes={data.minutes} />
      <div className="scroll-x">
        <table className="plain">
          <thead>
            <tr>
              <th>{texts.call}</th>
              <th className="number">{texts.count}</th>
              <th className="number">{texts.errors}</th>
              <th className="number">{texts.median}</th>
              <th className="number">{texts.p95}</th>
              <th className="number">{texts.slowest}</th>
            </tr>
          </thead>
          <tbody>
            {data.endpoints.map((one) => (
              <tr key={`${one.method} ${one.path}`}>
                <td>
                  <code>{`${one.method} ${one.path}`}</code>
                </td>
                <td className="number">{formatNumber(one.count)}</td>
                <td className="number">{one.errors > 0 ? formatNumber(one.errors) : ''}</td>
                <td className="number">{milliseconds(one.p50_ms)}</td>
                <td className="number">{milliseconds(one.p95_ms)}</td>
                <td className="number">{milliseconds(one.max_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h2>{texts.slowQueries}</h2>
      {data.slow.length === 0 ? (
        <p className="muted">{texts.noSlow}</p>
      ) : (
        <ul className="slow">
          {data.slow.map(({ at, ms, statement }) => (
            <li key={`${at} ${statement}`}>
              <strong>{milliseconds(ms)}</strong> <When at={at} /> <code>{statement}</code>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function milliseconds(ms: number): string {
  return `${formatNumber(ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms))} ms`
}

/** The last hour as bars. The table below has the figures. */
function Minutes({ minutes }: { readonly minutes: readonly Minute[] }) {
  const texts = useTexts().system
  const most = Math.max(1, ...minutes.map(({ count }) => count))
  if (minutes.length === 0) return null
  return (
    <figure className="minutes">
      <figcaption className="muted">{texts.lastHour(formatNumber(most))}</figcaption>
      <svg viewBox={`0 0 ${minutes.length * 10} 60`} preserveAspectRatio="none" aria-hidden="true">
        {minutes.map(({ at, count, errors }, index) => (
          <g key={at}>
            <title>{`${formatTime(at)}: ${count}`}</title>
            <rect x={index * 10} width="8" y={60 - (60 * count) / most} height={(60 * count) / most} />
            <rect
              className="errors"
              x={index * 10}
              width="8"
              y={60 - (60 * errors) / most}
              height={(60 * errors) / most}
            />
          </g>
        ))}
      </svg>
    </figure>
  )
}
