import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { auth } from '../../api.ts'
import { Button } from '../../parts/button.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { PresentPassword, proofOf } from '../../parts/login-fields.tsx'
import { useAttempt } from '../../parts/use-attempt.ts'
import { useSubmit } from '../../parts/use-submit.ts'
import { When } from '../../parts/when.tsx'
import { canUsePasskeys, makePasskey } from '../../passkeys.ts'
import { useTexts } from '../../texts/index.ts'

const PASSKEYS = ['auth', 'passkeys']

export function Passkeys() {
  const texts = useTexts()
  const queries = useQueryClient()
  const { data: passkeys = [] } = useQuery({
    queryKey: PASSKEYS,
    queryFn: ({ signal }) => auth.passkeys.list({ signal }),
  })
  const renew = () => queries.invalidateQueries({ queryKey: PASSKEYS })
  // The key of the form: a new one empties it, so that the password does not stay on the page.
  const [added, setAdded] = useState(0)
  const removal = useAttempt()
  const { submit, isBusy, failure, wrong } = useSubmit(async ({ name = '', ...proof }) => {
    const credential = await makePasskey(await auth.passkeys.options(proofOf(proof)))
    await auth.passkeys.add({ name, credential })
    setAdded(added + 1)
    await renew()
  })
  return (
    <section className="card">
      <h2>{texts.account.passkeys}</h2>
      <ul className="rows">
        {passkeys.map(({ id, name, created_at, used_at }) => (
          <li key={id}>
            <span>
              {name}{' '}
              <span className="muted">
                {used_at === null ? <When at={created_at} /> : <When at={used_at} />}
              </span>
            </span>
            <Button
              icon="trash"
              tone="plain"
              aria-label={texts.account.removeOne(name)}
              onClick={() => removal.attempt(() => auth.passkeys.remove(id).then(renew))}
            />
          </li>
        ))}
      </ul>
      {removal.failure !== undefined && <p role="alert">{removal.failure}</p>}
      {canUsePasskeys ? (
        <form key={added} onSubmit={submit}>
          <FormField
            label={texts.account.passkeyName}
            name="name"
            type="text"
            required
            maxLength={100}
            wrong={wrong('name')}
          />
          <PresentPassword form={{ wrong }} required={false} />
          {failure !== undefined && <p role="alert">{failure}</p>}
          <Button type="submit" icon="plus" disabled={isBusy}>
            {texts.account.addPasskey}
          </Button>
        </form>
      ) : (
        <p className="muted">{texts.account.noPasskeys}</p>
      )}
    </section>
  )
}
