import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, useEffect, useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { actAs, actingAs } from './api.ts'
import { useFeed, useIsLive } from './live.ts'
import { type EntityType, labelOf, ModelProvider, modelQuery, useModel } from './model.ts'
import { Button } from './parts/button.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { KeyHelp } from './parts/key-help.tsx'
import { Keys, useKeys } from './parts/keys.tsx'
import { type Command, Palette, useCommands } from './parts/palette.tsx'
import { SignInAgain } from './parts/sign-in-again.tsx'
import { QueryState } from './parts/states.tsx'
import { undoNewest } from './parts/toast.tsx'
import { usePreferences } from './preferences.ts'
import { isUnsettled, useSignedIn, useSignOut } from './session.ts'
import { changeSettings, useSettings } from './settings.ts'
import { useTexts } from './texts/index.ts'
import { useTimeCommands } from './time-commands.ts'

const Unsettled = lazy(() => import('./pages/sign-in/unsettled.tsx'))

/** The frame around every page of a signed-in user: navigation and menus. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const query = useQuery(modelQuery)
  // Lists need the preferences: they are read together with the model.
  usePreferences()
  if (isUnsettled(query.error)) return <Unsettled code={query.error.code} />
  if (query.data === undefined) return <QueryState query={query} />
  return (
    <ModelProvider value={query.data}>
      <Frame>{children}</Frame>
    </ModelProvider>
  )
}

function Frame({ children }: { readonly children: ReactNode }) {
  const texts = useTexts()
  const [isFinding, setFinding] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const [path] = useLocation()
  useFeed()
  useTimeCommands()
  const [isHelping, setHelping] = useState(false)
  useGlobalCommands(setHelping)
  useKeys({ 'mod+k': () => setFinding(true), u: () => undoNewest(), '?': () => setHelping(true) }, 'last')
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone, the menu is closed by every step.
  useEffect(() => setOpen(false), [path])
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <header className="top">
        <Button icon="menu" tone="plain" aria-label={texts.menu} onClick={() => setOpen(!isOpen)} />
        <strong>Takeback</strong>
        <Button icon="search" tone="plain" aria-label={texts.palette.open} onClick={() => setFinding(true)} />
      </header>
      <Sidebar isOpen={isOpen} find={() => setFinding(true)} />
      <div className="stage">
        <ActingBanner />
        {children}
      </div>
      <SignInAgain />
      {isHelping && <KeyHelp onClose={() => setHelping(false)} />}
      {isFinding && <Palette onClose={() => setFinding(false)} />}
    </div>
  )
}

function Sidebar({ isOpen, find }: { readonly isOpen: boolean; find(): void }) {
  const texts = useTexts()
  const model = useModel()
  const isAdmin = useIsAdmin()
  return (
    <nav className={isOpen ? 'sidebar open' : 'sidebar'} aria-label={texts.navigation}>
      <Link href="/" className="brand">
        <Icon name="undo" size={18} />
        Takeback
      </Link>
      <button type="button" className="find" onClick={find}>
        <Icon name="search" />
        <span>{texts.palette.open}</span>
        <Keys keys="mod+k" />
      </button>
      <section>
        <h2>{texts.nav.data}</h2>
        {model.entities.map((type) => (
          <NavLink key={type.name} to={`/${type.name}`} icon={type.login === null ? 'table' : 'people'}>
            {labelOf(type)}
          </NavLink>
        ))}
      </section>
      <section>
        <h2>{texts.nav.time}</h2>
        <NavLink to="/operations" except="/operations/trash" icon="history">
          {texts.nav.operations}
        </NavLink>
        <NavLink to="/operations/trash" icon="trash">
          {texts.nav.trash}
        </NavLink>
      </section>
      <section>
        <h2>{texts.nav.manage}</h2>
        {isAdmin && (
          <NavLink to="/auth/people" icon="people">
            {texts.nav.people}
          </NavLink>
        )}
        <NavLink to="/auth/keys" icon="key">
          {texts.nav.keys}
        </NavLink>
        {isAdmin && (
          <NavLink to="/system" icon="system">
            {texts.nav.system}
          </NavLink>
        )}
      </section>
      <AccountCorner />
    </nav>
  )
}

/** Whether the user is an admin, who passes every rule. */
export function useIsAdmin(): boolean {
  return useModel().admin
}

function NavLink({
  to,
  except,
  icon,
  children,
}: {
  readonly to: string
  /** A page below it with its own link. */
  readonly except?: string
  readonly icon: IconName
  readonly children: ReactNode
}) {
  const [path] = useLocation()
  const isCurrent = path === to || (path.startsWith(`${to}/`) && path !== except)
  return (
    <Link href={to} className="nav" aria-current={isCurrent ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{children}</span>
    </Link>
  )
}

function AccountCorner() {
  const texts = useTexts()
  const me = useSignedIn()
  const { theme, language } = useSettings()
  const signOut = useSignOut()
  const isLive = useIsLive()
  return (
    <footer className="account">
      <Link href="/auth/account" className="me" title={String(me.email ?? '')}>
        {String(me.name || me.email || `${me.user_type} ${me.id}`)}
      </Link>
      <span className={isLive ? 'live on' : 'live'} title={isLive ? texts.live.on : texts.live.off}>
        <span className="visually-hidden">{isLive ? texts.live.on : texts.live.off}</span>
      </span>
      <Button
        icon={theme === 'dark' ? 'sun' : 'moon'}
        tone="plain"
        aria-label={theme === 'dark' ? texts.theme.light : texts.theme.dark}
        onClick={() => void changeSettings({ theme: theme === 'dark' ? 'light' : 'dark' })}
      />
      <Button
        tone="plain"
        title={texts.language}
        onClick={() => void changeSettings({ language: language === 'en' ? 'de' : 'en' })}
      >
        {language === 'en' ? 'DE' : 'EN'}
      </Button>
      <Button icon="out" tone="plain" aria-label={texts.signOut} onClick={() => void signOut()} />
    </footer>
  )
}

function ActingBanner() {
  const texts = useTexts()
  const acting = actingAs()
  if (acting === undefined) return null
  return (
    <div className="banner" role="status">
      <Icon name="eye" />
      <p>{texts.acting.banner(acting.user)}</p>
      <Button onClick={() => actAs(undefined)}>{texts.acting.end}</Button>
    </div>
  )
}

/** Commands to go to every page, and those that are the same everywhere. */
function useGlobalCommands(help: (isOpen: boolean) => void): void {
  const texts = useTexts()
  const { entities } = useModel()
  const isAdmin = useIsAdmin()
  const [, navigate] = useLocation()
  const signOut = useSignOut()
  const commands = useMemo((): Command[] => {
    const go = (to: string, title: string, icon: IconName): Command => ({
      id: `go ${to}`,
      title,
      group: texts.palette.goTo,
      icon,
      run: () => navigate(to),
    })
    const create = (type: EntityType): Command[] =>
      type.may.create === false
        ? []
        : [
            {
              id: `new ${type.name}`,
              title: labelOf(type),
              group: texts.palette.create,
              icon: 'plus',
              run: () => navigate(`/${type.name}/new`),
            },
          ]
    return [
      go('/', texts.nav.home, 'undo'),
      ...entities.map((type) => go(`/${type.name}`, labelOf(type), 'table')),
      go('/operations', texts.nav.operations, 'history'),
      go('/operations/trash', texts.nav.trash, 'trash'),
      ...(isAdmin
        ? [go('/auth/people', texts.nav.people, 'people'), go('/system', texts.nav.system, 'system')]
        : []),
      go('/auth/keys', texts.nav.keys, 'key'),
      go('/auth/account', texts.nav.account, 'lock'),
      ...entities.flatMap(create),
      ...(['system', 'light', 'dark'] as const).map((theme) => ({
        id: `theme ${theme}`,
        title: texts.theme[theme],
        group: texts.theme.title,
        run: () => void changeSettings({ theme }),
      })),
      {
        id: 'en',
        title: 'English',
        group: texts.language,
        run: () => void changeSettings({ language: 'en' }),
      },
      {
        id: 'de',
        title: 'Deutsch',
        group: texts.language,
        run: () => void changeSettings({ language: 'de' }),
      },
      {
        id: 'keys',
        title: texts.keyHelp.title,
        group: texts.keyHelp.group,
        keys: '?',
        run: () => help(true),
      },
      { id: 'out', title: texts.signOut, group: texts.nav.account, icon: 'out', run: () => void signOut() },
    ]
  }, [texts, entities, isAdmin, navigate, signOut, help])
  useCommands(commands)
}
