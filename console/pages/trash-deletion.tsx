import { Link } from 'wouter'
import { formatTime } from '../format.ts'
import { labelOf, useModel } from '../model.ts'
import { Actor } from '../parts/actor.tsx'
import { Brief } from '../parts/brief.tsx'
import { Button } from '../parts/button.tsx'
import { short } from '../parts/entity-name.tsx'
import type { Undoing } from '../parts/undo-preview.tsx'
import { When } from '../parts/when.tsx'
import { useTexts } from '../texts/index.ts'
import { type Deleted, type Deletion, restoringOf, rootOf } from './trash-groups.ts'

export interface Purging {
  readonly deleted: Deleted
  readonly along: number
}

interface DeletionRowProps {
  readonly deletion: Deletion
  restore(undoing: Undoing): void
  purge(purging: Purging): void
}

/** One deletion: its main Entity, the others deleted with it, and a button to restore them. */
export function DeletionRow({ deletion, restore, purge }: DeletionRowProps) {
  const texts = useTexts()
  const { entities } = useModel()
  const { members, operation, actor, at } = deletion
  const root = rootOf(deletion, entities)
  const type = entities.find(({ name }) => name === (root ?? members[0])?.entity)
  return (
    <li className="operation" data-operation={operation}>
      <div className="what">
        <p>
          <strong>
            <bdi>{short((root ?? members[0])?.name ?? '')}</bdi>
          </strong>
          {members.length > 1 && texts.operations.andMore(members.length - 1)}
          {deletion.partial.size > 0 && '+'} <Counts deletion={deletion} />
        </p>
        <Brief type={type} data={(root ?? members[0])?.data} />
        <p className="muted">
          {texts.trash.deletedBy} <Actor actor={actor} />
          <PurgedAt at={at} keptMs={type?.retention.trash_ms ?? null} />
        </p>
        {members.length > 1 && (
          <details>
            <summary>{texts.trash.content}</summary>
            <Members deletion={deletion} restore={restore} purge={purge} />
          </details>
        )}
      </div>
      <Link href={`/operations/${operation}`} className="open">
        <When at={at} />
      </Link>
      <div className="row-buttons">
        <Button icon="undo" onClick={() => restore(restoringOf(deletion, entities))}>
          {texts.trash.restore}
        </Button>
        {root !== undefined && type?.may.purge !== false && (
          <Button
            icon="trash"
            tone="plain"
            aria-label={texts.trash.purgeOne(short(root.name))}
            onClick={() => purge({ deleted: root, along: members.length - 1 })}
          />
        )}
      </div>
    </li>
  )
}

function Counts({ deletion: { members, partial } }: { readonly deletion: Deletion }) {
  const { entities } = useModel()
  const counts = Map.groupBy(members, ({ entity }) => entity)
  return (
    <span className="marks">
      {[...counts].map(([entity, some]) => {
        const type = entities.find(({ name }) => name === entity)
        return (
          <span key={entity} className="badge">
            {type === undefined ? entity : labelOf(type)} {members.length > 1 && some.length}
            {partial.has(entity) && '+'}
          </span>
        )
      })}
    </span>
  )
}

/** Shows when it will be purged by itself. */
function PurgedAt({ at, keptMs }: { readonly at: string; readonly keptMs: number | null }) {
  const texts = useTexts()
  if (keptMs === null) return null
  return ` · ${texts.trash.keptUntil(formatTime(new Date(Date.parse(at) + keptMs).toISOString()))}`
}

const MOST = 50

/** All Entities of a deletion, each with its own restore button. */
function Members({ deletion: { members }, restore, purge }: DeletionRowProps) {
  const texts = useTexts()
  const { entities } = useModel()
  const mayPurge = ({ entity }: Deleted) => entities.find(({ name }) => name === entity)?.may.purge !== false
  return (
    <ul className="members">
      {members.slice(0, MOST).map((one) => (
        <li key={`${one.entity}/${one.id}`}>
          <bdi>{short(one.name)}</bdi> <span className="muted">{one.entity}</span>
          <Brief type={entities.find(({ name }) => name === one.entity)} data={one.data} />
          <Button
            icon="undo"
            tone="plain"
            aria-label={texts.trash.restoreOne(short(one.name))}
            onClick={() => restore({ entity: one.entity, id: one.id, step: 'restore' })}
          />
          {mayPurge(one) && (
            <Button
              icon="trash"
              tone="plain"
              aria-label={texts.trash.purgeOne(short(one.name))}
              onClick={() => purge({ deleted: one, along: 0 })}
            />
          )}
        </li>
      ))}
      {members.length > MOST && <li className="muted">{texts.operations.andMore(members.length - MOST)}</li>}
    </ul>
  )
}
