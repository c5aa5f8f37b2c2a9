import { useQuery, useQueryClient } from '@tanstack/react-query'
import { get, type Page, send } from '../../api.ts'
import { Button } from '../../parts/button.tsx'
import { QueryState } from '../../parts/states.tsx'
import { useAttempt } from '../../parts/use-attempt.ts'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'

interface OneSession {
  readonly id: string
  readonly current: boolean
  readonly how: string
  readonly started_at: string
  readonly seen_at: string
  readonly address: string | null
  readonly user_agent: string | null
}

/** The sessions of the user, or for admins of a `user` such as `users/5`. */
export function Sessions({ user }: { readonly user?: string }) {
  const texts = useTexts().account
  const queries = useQueryClient()
  const key = ['auth', 'sessions', user]
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => get<Page<OneSession>>('auth/sessions/', { user }, signal),
  })
  const { attempt, failure } = useAttempt()
  const end = (path: string, query: object = {}) =>
    attempt(async () => {
      await send('DELETE', `auth/sessions/${path}`, { query: { ...query, user } })
      await queries.invalidateQueries({ queryKey: key })
    })
  if (query.data === undefined) return <QueryState query={query} />
  const sessions = query.data.data
  if (sessions.length === 0) return <p className="muted">{texts.noSessions}</p>
  return (
    <>
      <QueryState query={query} />
      {failure !== undefined && <p role="alert">{failure}</p>}
      <div className="scroll-x">
        <table className="plain stacked">
          <thead>
            <tr>
              <th>{texts.where}</th>
              <th>{texts.seen}</th>
              <th>{texts.started}</th>
              <th>
                <span className="visually-hidden">{texts.endSession}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sessions.map((one) => (
              <tr key={one.id}>
                <td>
                  {deviceOf(one.user_agent)} <span className="muted">{one.address}</span>{' '}
                  {one.current && <span className="badge accent">{texts.thisOne}</span>}
                </td>
                <td data-label={texts.seen}>
                  <When at={one.seen_at} />
                </td>
                <td data-label={texts.started}>
                  <When at={one.started_at} />
                </td>
                <td className="number">
                  {!one.current && <Button onClick={() => end(`${one.id}/`)}>{texts.endSession}</Button>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {user === undefined && sessions.length > 1 && (
        <Button onClick={() => end('', { others: true })}>{texts.endOthers}</Button>
      )}
    </>
  )
}

/** Returns "Firefox, Linux" for a user agent; for other programs, their own name. */
function deviceOf(agent: string | null): string {
  if (agent === null) return '?'
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) => agent.includes(`${name}/`))
  const system = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS', 'Linux'].find((name) =>
    agent.includes(name),
  )
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera' }
  if (browser === undefined) return agent.slice(0, 40)
  return [names[browser] ?? browser, system].filter(Boolean).join(', ')
}
