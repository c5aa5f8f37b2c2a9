import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { get, type Page as ListPage, NotFound } from '../api.ts'
import { formatExactTime } from '../format.ts'
import { useModel } from '../model.ts'
import { useParameter } from '../moment.ts'
import { isTakenBack, type Operation, type OperationInFull, undoingOf, useOperation } from '../operations.ts'
import { Actor } from '../parts/actor.tsx'
import { Button } from '../parts/button.tsx'
import { useKeys } from '../parts/keys.tsx'
import { OperationSentence, useOperationTitle } from '../parts/operation-sentence.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, QueryState } from '../parts/states.tsx'
import { UndoPreview } from '../parts/undo-preview.tsx'
import { When } from '../parts/when.tsx'
import { paged } from '../query-cache.ts'
import { useTexts } from '../texts/index.ts'
import { Tree } from './operation-extent.tsx'
import { treeOf, useChangedData } from './operation-tree.ts'

const PAGE = 100

export default function OperationPage({ id }: { readonly id: string }) {
  const texts = useTexts()
  const query = useInfiniteQuery({
    queryKey: ['operations', 'full', id],
    ...paged((cursor) => get<OperationInFull>(`operations/${id}/`, { limit: PAGE, cursor })),
  })
  const [operation] = query.data?.pages ?? []
  if (operation === undefined && query.error instanceof NotFound)
    return (
      <Page title={texts.operations.operation}>
        <Empty
          icon="history"
          title={texts.operations.nothingThere}
          action={<Link href="/operations">{texts.nav.operations}</Link>}
        />
      </Page>
    )
  if (operation === undefined) return <QueryState query={query} />
  const more = query.hasNextPage ? () => void query.fetchNextPage() : undefined
  return (
    <OneOperation
      operation={operation}
      changes={query.data?.pages.flatMap(({ data }) => data) ?? []}
      {...(more !== undefined && { more })}
    />
  )
}

interface OneOperationProps {
  readonly operation: OperationInFull
  readonly changes: OperationInFull['data']
  more?(): void
}

function OneOperation({ operation, changes, more }: OneOperationProps) {
  const texts = useTexts()
  const title = useOperationTitle(operation)
  // Links from other pages can open the preview directly.
  const [asked, setAsked] = useParameter('undo')
  const isUndoing = asked !== undefined
  const setUndoing = (now: boolean) => setAsked(now ? '1' : undefined)
  const { entities } = useModel()
  const data = useChangedData(changes)
  const tree = useMemo(() => treeOf(changes, entities, data), [changes, entities, data])
  const linked = useLinked([...(operation.undone_by ?? []), ...(operation.undoes ?? [])])
  const isBack = isTakenBack(operation, linked)
  const isMigration = changes.some(({ kind }) => kind === 'migrate')
  useKeys({ u: () => (isMigration ? false : setUndoing(true)) })
  return (
    <Page
      title={title}
      above={<Link href="/operations">{texts.nav.operations}</Link>}
      actions={
        !isMigration && (
          <Button
            icon={isBack ? 'redo' : 'undo'}
            {...(!isBack && { tone: 'main' })}
            keys="u"
            onClick={() => setUndoing(true)}
          >
            {isBack ? texts.operations.redoThis : texts.operations.undoThis}
          </Button>
        )
      }
    >
      <div className="one-operation">
        <Facts operation={operation} linked={linked} isTakenBack={isBack} />
        <section>
          <h2>
            {texts.operations.extent}{' '}
            <span className="badge">{texts.operations.changes(operation.changes)}</span>
          </h2>
          <Tree branches={tree} />
          {more !== undefined && <Button onClick={more}>{texts.operations.moreChanges}</Button>}
        </section>
        <Effects operation={operation} />
      </div>
      {isUndoing && (
        <UndoPreview
          undoing={{ operation: undoingOf(operation, isBack) }}
          title={isBack ? texts.operations.redoThis : `${texts.undo.undo}: ${title}`}
          onClose={() => setUndoing(false)}
        />
      )}
    </Page>
  )
}

/** Returns other operations, by their id. */
function useLinked(ids: readonly string[]): ReadonlyMap<string, Operation> {
  return useQueries({
    queries: ids.slice(0, 20).map((id) => ({
      queryKey: ['operations', 'one', id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<OperationInFull>(`operations/${id}/`, { limit: 1 }, signal),
    })),
    combine: (all) => new Map(all.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data]]))),
  })
}

interface FactsProps {
  readonly operation: Operation
  readonly linked: ReadonlyMap<string, Operation>
  readonly isTakenBack: boolean
}

function Facts({ operation, linked, isTakenBack: isBack }: FactsProps) {
  const texts = useTexts()
  const { actor, at, reason, run, cause, undoes, undone_by } = operation
  return (
    <dl className="facts">
      <dt>{texts.operations.who}</dt>
      <dd>
        <Actor actor={actor} />
      </dd>
      <dt>{texts.operations.when}</dt>
      <dd>
        <When at={at} /> <span className="muted">· {formatExactTime(at)}</span>
      </dd>
      {reason !== undefined && <dt>{texts.operations.reason}</dt>}
      {reason !== undefined && (
        <dd>
          <bdi>{reason}</bdi>
        </dd>
      )}
      {run !== undefined && <dt>{texts.operations.run}</dt>}
      {run !== undefined && (
        <dd>
          <Link href={`/operations?run=${encodeURIComponent(run)}`}>{run}</Link>
        </dd>
      )}
      {cause !== undefined && <Linked name={texts.operations.causedBy} ids={[cause]} linked={linked} />}
      {undoes !== undefined && <Linked name={texts.operations.undoes} ids={undoes} linked={linked} />}
      {undone_by !== undefined && (
        <Linked
          name={isBack ? texts.operations.undoneBy : texts.operations.wasUndoneBy}
          ids={undone_by}
          linked={linked}
        />
      )}
    </dl>
  )
}

interface LinkedProps {
  readonly name: string
  readonly ids: readonly string[]
  readonly linked: ReadonlyMap<string, Operation>
}

/** Related operations, each described in a sentence. */
function Linked({ name, ids, linked }: LinkedProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <ul className="linked">
          {ids.slice(0, 20).map((id) => {
            const operation = linked.get(id)
            return (
              <li key={id}>
                {operation === undefined ? (
                  <OtherOperation id={id} />
                ) : (
                  <OperationLine operation={operation} />
                )}
              </li>
            )
          })}
        </ul>
      </dd>
    </>
  )
}

function OtherOperation({ id }: { readonly id: string }) {
  const { data } = useOperation(id)
  const texts = useTexts()
  if (data === undefined) return <Link href={`/operations/${id}`}>{texts.operations.operation}</Link>
  return <OperationLine operation={data} />
}

function OperationLine({ operation }: { readonly operation: Operation }) {
  return (
    <>
      <Link href={`/operations/${operation.id}`}>
        <When at={operation.at} />
      </Link>{' '}
      <Actor actor={operation.actor} /> <OperationSentence operation={operation} />
    </>
  )
}

/** The changes that reactions made because of the operation. */
function Effects({ operation: { id } }: { readonly operation: Operation }) {
  const texts = useTexts()
  const { data } = useQuery({
    queryKey: ['operations', 'effects', id],
    queryFn: ({ signal }) => get<ListPage<Operation>>('operations/', { cause: id, limit: 200 }, signal),
  })
  const effects = data?.data ?? []
  if (effects.length === 0) return null
  return (
    <section>
      <h2>{texts.operations.effects}</h2>
      <ul className="linked">
        {effects.map((operation) => (
          <li key={operation.id}>
            <OperationLine operation={operation} />
          </li>
        ))}
      </ul>
    </section>
  )
}
