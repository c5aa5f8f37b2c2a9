import type { ReactNode } from 'react'
import { Link, Redirect, useLocation } from 'wouter'
import { Page } from '../../parts/page.tsx'
import { useIsAdmin } from '../../shell.tsx'
import { useTexts } from '../../texts/index.ts'
import { Diagram } from './diagram.tsx'
import { Health } from './health.tsx'
import { Migrations } from './migrations.tsx'
import { Requests } from './requests.tsx'
import { Rules } from './rules.tsx'
import { Work } from './work.tsx'

const TABS = ['diagram', 'rules', 'health', 'requests', 'work', 'migrations'] as const
type Tab = (typeof TABS)[number]

const CONTENT: Record<Tab, () => ReactNode> = {
  diagram: () => <Diagram />,
  rules: () => <Rules />,
  health: () => <Health />,
  requests: () => <Requests />,
  work: () => <Work />,
  migrations: () => <Migrations />,
}

/** For admins: the declaration, and how the server is doing. */
export default function System() {
  const texts = useTexts()
  const [path] = useLocation()
  const isAdmin = useIsAdmin()
  const name = path.split('/')[2] ?? 'diagram'
  const tab = TABS.find((one) => one === name)
  if (!isAdmin) return <Redirect to="/" />
  if (tab === undefined) return <Redirect to="/system" />
  return (
    <Page
      title={texts.nav.system}
      actions={
        <a className="button" href="/docs">
          {texts.system.docs}
        </a>
      }
      bar={
        <nav className="tabs" aria-label={texts.nav.system}>
          {TABS.map((one) => (
            <Link key={one} href={`/system/${one}`} aria-current={one === tab ? 'page' : undefined}>
              {texts.system.tabs[one]}
            </Link>
          ))}
        </nav>
      }
    >
      {CONTENT[tab]()}
    </Page>
  )
}
