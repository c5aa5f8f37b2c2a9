import { Page } from '../../parts/page.tsx'
import { useSignedIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'
import { Sessions } from '../people/sessions.tsx'
import { ChangeEmail } from './change-email.tsx'
import { ChangePassword } from './change-password.tsx'
import { Identities } from './identities.tsx'
import { Passkeys } from './passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'

/** How the user signs in: password, second factor, passkeys and the like. */
export default function Account() {
  const texts = useTexts()
  const me = useSignedIn()
  return (
    <Page title={texts.nav.account} above={String(me.email ?? '')}>
      <div className="cards">
        <ChangePassword />
        <ChangeEmail />
        <SecondFactor />
        <Passkeys />
        <Identities />
        <section className="card wide">
          <h2>{texts.account.sessions}</h2>
          <p className="muted">{texts.account.sessionsHelp}</p>
          <Sessions />
        </section>
      </div>
    </Page>
  )
}
