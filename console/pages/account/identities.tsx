import { useQuery, useQueryClient } from '@tanstack/react-query'
import { auth } from '../../api.ts'
import { useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { useAttempt } from '../../parts/use-attempt.ts'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'

const IDENTITIES = ['auth', 'identities']

/** The user's accounts at providers, which can be used to sign in here. */
export function Identities() {
  const texts = useTexts().account
  const queries = useQueryClient()
  const { attempt, failure } = useAttempt()
  const { providers } = useModel().sign_in
  const renew = () => queries.invalidateQueries({ queryKey: IDENTITIES })
  const { data: identities = [] } = useQuery({
    queryKey: IDENTITIES,
    queryFn: ({ signal }) => auth.identities.list({ signal }),
    enabled: providers.length > 0,
  })
  if (providers.length === 0) return null
  return (
    <section className="card">
      <h2>{texts.identities}</h2>
      <p className="muted">{texts.identitiesHelp}</p>
      <ul className="rows">
        {identities.map((one) => (
          <li key={one.id}>
            <span>
              {one.provider}{' '}
              <span className="muted">
                <When at={one.created_at} />
              </span>
            </span>
            <Button
              icon="trash"
              tone="plain"
              aria-label={texts.removeOne(one.provider)}
              onClick={() => attempt(() => auth.identities.remove(one.id).then(renew))}
            />
          </li>
        ))}
      </ul>
      {failure !== undefined && <p role="alert">{failure}</p>}
    </section>
  )
}
