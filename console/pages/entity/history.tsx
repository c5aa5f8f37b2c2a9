import { useState } from 'react'
import { Link } from 'wouter'
import { explain } from '../../explain.ts'
import { type EntityType, useModel } from '../../model.ts'
import { useMoment } from '../../moment.ts'
import { actorOf } from '../../own-changes.ts'
import { Actor } from '../../parts/actor.tsx'
import { Button } from '../../parts/button.tsx'
import { ChangedValues } from '../../parts/changed-values.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { Loading } from '../../parts/states.tsx'
import { useReached } from '../../parts/use-visible.ts'
import { When } from '../../parts/when.tsx'
import { useSignedIn } from '../../session.ts'
import { useTexts } from '../../texts/index.ts'
import { RevertDialog } from './revert-dialog.tsx'
import { entriesOf, type HistoryEntry, useHistory } from './use-history.ts'

interface HistoryProps {
  readonly type: EntityType
  readonly id: number
  /** The version that the page shows. */
  readonly version: number
  readonly mayRevert: boolean
}

/** The history of an Entity, newest first. */
export function History({ type, id, version, mayRevert }: HistoryProps) {
  const texts = useTexts()
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useHistory(type.name, id)
  const [reverted, setReverted] = useState<HistoryEntry>()
  const end = useReached(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
  })
  const entries = entriesOf(data)
  // A deletion has no state to revert to, and the newest version is the current one.
  const canRevert = (entry: HistoryEntry) => entry.kind !== 'delete' && entry.version !== entries[0]?.version
  return (
    <section className="side-part history" aria-labelledby="history">
      <h2 id="history" tabIndex={-1}>
        {texts.history.title}
      </h2>
      {error !== null && data === undefined && <p className="muted">{explain(error, texts)}</p>}
      {data === undefined && error === null && <Loading />}
      <ol className="timeline">
        {entries.map((entry) => (
          <Entry
            key={`${entry.operation} ${entry.version} ${entry.kind}`}
            type={type}
            entry={entry}
            isShown={entry.version === version && entry.kind !== 'migrate'}
            revert={mayRevert && canRevert(entry) ? () => setReverted(entry) : undefined}
          />
        ))}
      </ol>
      <div ref={end} />
      {reverted !== undefined && (
        <RevertDialog type={type} id={id} entry={reverted} onClose={() => setReverted(undefined)} />
      )}
    </section>
  )
}

const ICONS: Record<string, IconName> = {
  create: 'plus',
  update: 'edit',
  delete: 'trash',
  restore: 'undo',
  purge: 'close',
  migrate: 'system',
}

interface EntryProps {
  readonly type: EntityType
  readonly entry: HistoryEntry
  readonly isShown: boolean
  readonly revert: (() => void) | undefined
}

function Entry({ type, entry, isShown, revert }: EntryProps) {
  const texts = useTexts()
  const { kind, at, actor, operation, changed, secrets, run, reason } = entry
  const words: Record<string, string> = texts.history.kinds
  return (
    <li className={isShown ? 'entry shown' : 'entry'}>
      <span className={`entry-icon ${kind}`}>
        <Icon name={ICONS[kind] ?? 'edit'} size={13} />
      </span>
      <div className="entry-head">
        <strong>{words[kind] ?? kind}</strong> <Actor actor={actor} />{' '}
        <Link href={`/operations/${operation}`} className="muted" title={texts.history.operation}>
          <When at={at} />
        </Link>
      </div>
      {reason !== undefined && <p className="reason">“{reason}”</p>}
      {run !== undefined && (
        <p className="muted">
          {texts.history.run} <code>{run}</code>
        </p>
      )}
      {kind === 'create' || kind === 'delete' || kind === 'restore' ? (
        <FirstValues type={type} entry={entry} />
      ) : (
        <ChangedValues entity={type.name} changed={changed} secrets={secrets} most={12} />
      )}
      {kind !== 'purge' && <EntryActions entry={entry} isShown={isShown} revert={revert} />}
    </li>
  )
}

/** Hides the values of a create behind a click: they are many, and mostly still the same. */
function FirstValues({ type, entry }: { readonly type: EntityType; readonly entry: HistoryEntry }) {
  const texts = useTexts()
  const count = Object.keys(entry.changed ?? {}).filter((path) => path !== 'deleted_at').length
  if (count === 0) return null
  return (
    <details>
      <summary className="muted">{texts.history.values(count)}</summary>
      <ChangedValues entity={type.name} changed={entry.changed} />
    </details>
  )
}

interface EntryActionsProps {
  readonly entry: HistoryEntry
  readonly isShown: boolean
  readonly revert: (() => void) | undefined
}

function EntryActions({
  entry: { at, version, kind, actor, operation },
  isShown,
  revert,
}: EntryActionsProps) {
  const texts = useTexts()
  const mayUndo = useMayUndo(actor)
  const [moment, setMoment] = useMoment()
  if (isShown && (moment !== undefined || kind !== 'update' || !mayUndo)) return null
  // The current version cannot be reverted to, but the change that made it can be undone.
  if (isShown)
    return (
      <div className="entry-actions">
        <Link className="button plain" href={`/operations/${operation}?undo=1`}>
          <Icon name="undo" />
          {texts.operations.undoThis}
        </Link>
      </div>
    )
  return (
    <div className="entry-actions">
      <Button tone="plain" icon="eye" onClick={() => setMoment(at)}>
        {texts.history.show}
      </Button>
      {revert !== undefined && (
        <Button tone="plain" icon="undo" onClick={revert} title={texts.history.version(version)}>
          {texts.history.revert}
        </Button>
      )}
    </div>
  )
}

/** Whether the user may be able to undo an actor's changes: admins all, others their own. A key may be theirs. */
function useMayUndo(actor: string | null): boolean {
  const model = useModel()
  const self = actorOf(useSignedIn(), model)
  const last = actor?.split(' as ').at(-1)
  return model.admin || last === self || last?.startsWith('keys/') === true
}
