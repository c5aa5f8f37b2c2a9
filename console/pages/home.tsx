import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { get, type Page as ListPage } from '../api.ts'
import { formatNumber } from '../format.ts'
import { type EntityType, labelOf, useModel } from '../model.ts'
import { type Operation, useOperations } from '../operations.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { OperationList } from '../parts/operation-list.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, QueryState } from '../parts/states.tsx'
import { type Undoing, UndoPreview } from '../parts/undo-preview.tsx'
import { useTexts } from '../texts/index.ts'
import { useUndoLast } from '../time-commands.ts'

const LATEST = 15

/** The start page: the types, the latest operations, and suggestions. */
export default function Home() {
  const texts = useTexts()
  const query = useOperations({}, { limit: LATEST })
  const latest = query.data?.pages[0]?.data ?? []
  const [undoing, setUndoing] = useState<Undoing>()
  return (
    <Page title={texts.nav.home}>
      <div className="home">
        <Types />
        <section className="home-latest">
          <header>
            <h2>{texts.home.latest}</h2>
            <Link href="/operations">{texts.home.all}</Link>
          </header>
          <QueryState query={query} />
          {query.data !== undefined && latest.length === 0 && (
            <p className="muted">{texts.operations.emptyTitle}</p>
          )}
          <OperationList operations={latest} known={latest} undo={setUndoing} />
        </section>
        <CanDo latest={latest} />
      </div>
      {undoing !== undefined && <UndoPreview undoing={undoing} onClose={() => setUndoing(undefined)} />}
    </Page>
  )
}

/** Returns the number of Entities of a type; updated after every change. */
function useCount(name: string): number | undefined {
  return useQuery({
    queryKey: ['list', name, 'count'],
    queryFn: ({ signal }) => get<ListPage<unknown>>(`${name}/`, { limit: 1, count: true }, signal),
  }).data?.total
}

function Types() {
  const texts = useTexts()
  const { entities } = useModel()
  const listed = entities.filter(({ may }) => may.list !== false)
  return (
    <section>
      <h2>{texts.home.here}</h2>
      <FirstStep types={listed} />
      <ul className="types">
        {listed.map((type) => (
          <TypeCard key={type.name} type={type} />
        ))}
      </ul>
    </section>
  )
}

function TypeCard({ type }: { readonly type: EntityType }) {
  const texts = useTexts()
  const count = useCount(type.name)
  return (
    <li className="type">
      <Link href={`/${type.name}`} className="open">
        <Icon name={type.login === null ? 'table' : 'people'} />
        {labelOf(type)}
      </Link>
      <span className="number" role="status" aria-label={count === undefined ? '' : texts.home.count(count)}>
        {count === undefined ? ' ' : formatNumber(count)}
      </span>
      {type.may.create !== false && (
        <Link
          href={`/${type.name}/new`}
          className="button plain square"
          aria-label={texts.home.create(labelOf(type))}
        >
          <Icon name="plus" />
        </Link>
      )}
    </li>
  )
}

/** If there is no data yet, suggests a type to begin with: one that needs no other type first. */
function FirstStep({ types }: { readonly types: readonly EntityType[] }) {
  const texts = useTexts()
  const plain = types.filter(({ login, may }) => login === null && may.create !== false)
  const { data: isEmpty } = useQuery({
    queryKey: ['operations', 'is empty', plain.map(({ name }) => name)],
    queryFn: async ({ signal }) => {
      for (const { name } of plain)
        if ((await get<ListPage<unknown>>(`${name}/`, { limit: 1 }, signal)).data.length > 0) return false
      return plain.length > 0
    },
  })
  const first = useMemo(
    () =>
      plain
        .filter(({ fields }) => !fields.some(({ type, required }) => type === 'ref' && required))
        .slice(0, 3),
    [plain],
  )
  if (isEmpty !== true) return null
  return (
    <Empty
      icon="plus"
      title={texts.home.firstTitle}
      action={
        <span className="buttons">
          {first.map((type) => (
            <Link key={type.name} href={`/${type.name}/new`} className="button main">
              {texts.home.create(labelOf(type))}
            </Link>
          ))}
        </span>
      }
    >
      {texts.home.first}
    </Empty>
  )
}

const AGO = { day: 86_400_000, hour: 3_600_000, minutes: 600_000 } as const
const AGES = ['day', 'hour', 'minutes'] as const

/** Returns the earliest of some moments at which there was data; undefined if there is none, or not known yet. */
function usePast(type: EntityType | undefined): { age: (typeof AGES)[number]; at: string } | undefined {
  const { data } = useQuery({
    queryKey: ['past of', type?.name],
    queryFn: async ({ signal }) => {
      for (const age of AGES) {
        const at = new Date(Date.now() - AGO[age]).toISOString()
        const query = { at, limit: 1, fields: 'id' }
        // The journal may not go back that far.
        const page = await get<ListPage<unknown>>(`${type?.name}/`, query, signal).catch(() => undefined)
        if (page !== undefined && page.data.length > 0) return { age, at }
      }
      return null
    },
    enabled: type !== undefined,
    staleTime: 60_000,
  })
  return data ?? undefined
}

function CanDo({ latest }: { readonly latest: readonly Operation[] }) {
  const texts = useTexts()
  const { entities } = useModel()
  const undoLast = useUndoLast()
  const seen = entities.filter(({ may }) => may.list !== false && may.history !== false)
  const changed = latest.flatMap(({ summary }) => Object.keys(summary))
  const type = seen.find(({ name, login }) => login === null && changed.includes(name)) ?? seen[0]
  const past = usePast(type)
  return (
    <section>
      <h2>{texts.home.canDo}</h2>
      <ul className="can-do">
        {type !== undefined && past !== undefined && (
          <Feature icon="clock" help={texts.home.pastHelp}>
            <Link href={`/${type.name}?at=${past.at}`}>{texts.home.past[past.age](labelOf(type))}</Link>
          </Feature>
        )}
        <Feature icon="undo" help={texts.home.undoLastHelp}>
          <button type="button" className="as-link" onClick={() => void undoLast()}>
            {texts.home.undoLast}
          </button>
        </Feature>
        <Feature icon="trash" help={texts.home.deletedHelp}>
          <Link href="/operations/trash">{texts.home.deleted}</Link>
        </Feature>
        <Feature icon="code" help={texts.home.apiHelp}>
          <a href="/docs">{texts.home.api}</a>
        </Feature>
      </ul>
    </section>
  )
}

interface FeatureProps {
  readonly icon: IconName
  readonly help: string
  readonly children: ReactNode
}

function Feature({ icon, help, children }: FeatureProps) {
  return (
    <li>
      <Icon name={icon} />
      <div>
        {children}
        <p className="muted">{help}</p>
      </div>
    </li>
  )
}
