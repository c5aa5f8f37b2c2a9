import { useEffect, useMemo } from 'react'
import { Link } from 'wouter'
import { ApiError } from '../api.ts'
import { explain } from '../explain.ts'
import { labelOf, useModel } from '../model.ts'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { EntityName } from './entity-name.tsx'
import { Icon } from './icon.tsx'
import { filterFor } from './referrers.ts'
import { type RemovalChange, type RemovalPreview, type RemovalTarget, useRemoval } from './removal-call.ts'
import { Loading } from './states.tsx'

export type { RemovalTarget }

interface RemovalProps {
  readonly target: RemovalTarget
  /** The name of the Entity, or "5 orders". */
  readonly name: string
  onClose(): void
  onDone?(): void
}

/** Shows what a delete removes, clears and is blocked by, or what a restore brings back. Then does it. */
export function Removal({ target, name, onClose, onDone }: RemovalProps) {
  const texts = useTexts()
  const words = texts.remove[target.kind]
  const { preview, failure, isBusy, hasMoved, withTargets, chooseTargets, run } = useRemoval(
    target,
    (total) => words.done(name, target.id === undefined ? 0 : total - 1),
  )
  const remove = async () => {
    if (!(await run())) return
    onClose()
    onDone?.()
  }
  const isReady = preview !== undefined
  useEffect(() => {
    if (isReady) document.querySelector<HTMLElement>('.removal-confirm')?.focus()
  }, [isReady])
  const needsTargets = failure instanceof ApiError && failure.code === 'target_deleted'
  return (
    <Dialog
      title={words.title(name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button
            tone={target.kind === 'delete' ? 'danger' : 'main'}
            icon={target.kind === 'delete' ? 'trash' : 'undo'}
            className="removal-confirm"
            disabled={preview === undefined || preview.total === 0 || isBusy}
            onClick={() => void remove()}
          >
            {words.do}
          </Button>
        </>
      }
    >
      <div className="removal">
        {hasMoved && (
          <p className="badge warn" role="status">
            <Icon name="warn" /> {texts.remove.changed}
          </p>
        )}
        {preview !== undefined && <Extent target={target} preview={preview} />}
        {failure !== undefined && (
          <RemovalConflicts failure={failure} title={words.against} target={target} />
        )}
        {(needsTargets || withTargets) && (
          <label className="with-targets">
            <input
              type="checkbox"
              checked={withTargets}
              onChange={({ target: box }) => chooseTargets(box.checked)}
            />{' '}
            {texts.remove.withTargets}
          </label>
        )}
        {preview === undefined && failure === undefined && <Loading />}
        {target.kind === 'delete' && preview !== undefined && <p className="muted">{texts.remove.canUndo}</p>}
      </div>
    </Dialog>
  )
}

function Extent({ target, preview }: { readonly target: RemovalTarget; readonly preview: RemovalPreview }) {
  const texts = useTexts()
  const words = texts.remove[target.kind]
  const { changes, total } = preview
  const isOwn = ({ entity, id }: RemovalChange) => entity === target.entity && id === target.id
  const along = changes.filter((one) => one.kind === target.kind && !isOwn(one))
  const cleared = changes.filter((one) => one.kind !== target.kind)
  if (total === 0) return <p>{texts.remove.nothing}</p>
  return (
    <>
      {along.length === 0 && cleared.length === 0 && <p>{words.alone}</p>}
      {along.length > 0 && <Groups title={words.along(along.length)} changes={along} />}
      {cleared.length > 0 && <Groups title={words.cleared(cleared.length)} changes={cleared} withFields />}
      {total > changes.length && <p className="muted">{texts.remove.more(total - changes.length)}</p>}
    </>
  )
}

interface GroupsProps {
  readonly title: string
  readonly changes: readonly RemovalChange[]
  readonly withFields?: boolean
}

const OPEN = 8
const LISTED = 50

/** Entities by type, with their names. */
function Groups({ title, changes, withFields = false }: GroupsProps) {
  const texts = useTexts()
  const { entities } = useModel()
  const groups = useMemo(() => [...Map.groupBy(changes, ({ entity }) => entity)], [changes])
  return (
    <section>
      <h3>{title}</h3>
      {groups.map(([entity, some]) => {
        const type = entities.find(({ name }) => name === entity)
        return (
          <details key={entity} open={some.length <= OPEN}>
            <summary>
              {type === undefined ? entity : labelOf(type)} <span className="badge">{some.length}</span>
            </summary>
            <ul>
              {some.slice(0, LISTED).map((one) => (
                <li key={one.id}>
                  <EntityName entity={entity} id={one.id} isBeside />
                  {withFields && <span className="muted"> {fieldsOf(one)}</span>}
                </li>
              ))}
              {some.length > LISTED && <li className="muted">{texts.remove.more(some.length - LISTED)}</li>}
            </ul>
          </details>
        )
      })}
    </section>
  )
}

function fieldsOf({ changed }: RemovalChange): string {
  return Object.keys(changed ?? {})
    .map((path) => path.replace(/\.id$/, ''))
    .join(', ')
}

interface RemovalConflictsProps {
  readonly failure: unknown
  readonly title: string
  readonly target: RemovalTarget
}

/** What blocks the removal: `invoices.order` is a type and its field. Each is a link to the blocking Entities. */
function RemovalConflicts({ failure, title, target }: RemovalConflictsProps) {
  const texts = useTexts()
  const { entities } = useModel()
  const errors = failure instanceof ApiError ? Object.entries(failure.errors ?? {}) : []
  const own = entities.find(({ name }) => name === target.entity)
  const queryOf = (at: string) => {
    const referrer = own?.referrers.find(({ entity, path }) => `${entity}.${path}` === at)
    if (referrer === undefined || target.id === undefined) return ''
    return `?filter=${encodeURIComponent(filterFor(referrer, target.id))}`
  }
  if (errors.length === 0)
    return (
      <p className="against" role="alert">
        {explain(failure, texts)}
      </p>
    )
  return (
    <section className="against" role="alert">
      <h3>
        <Icon name="warn" /> {title}
      </h3>
      <ul>
        {errors.map(([path, messages]) => {
          const type = entities.find(({ name }) => path.split('.')[0] === name)
          return (
            <li key={path}>
              {type === undefined ? (
                <code>{path}</code>
              ) : (
                <Link href={`/${type.name}${queryOf(path)}`}>{labelOf(type)}</Link>
              )}
              {': '}
              {messages.map(texts.errors.sentence).join('; ')}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
