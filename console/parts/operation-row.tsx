import { memo, useId } from 'react'
import { Link } from 'wouter'
import { labelOf, useModel } from '../model.ts'
import { countsOf, type Operation, rootType, undoingOf, useFirstChanges } from '../operations.ts'
import { useTexts } from '../texts/index.ts'
import { Actor } from './actor.tsx'
import { Button } from './button.tsx'
import { ChangedValues } from './changed-values.tsx'
import { OperationSentence } from './operation-sentence.tsx'
import { useVisible } from './use-visible.ts'
import { When } from './when.tsx'

interface OperationRowProps {
  readonly operation: Operation
  readonly isTakenBack: boolean
  /** Undefined if it cannot be selected here. */
  readonly isSelected?: boolean
  select?(id: string): void
  undo(operation: string): void
}

/** One operation of a list: who did what, and a button to undo it. */
export const OperationRow = memo(function OperationRow({
  operation,
  isTakenBack,
  isSelected,
  select,
  undo,
}: OperationRowProps) {
  const texts = useTexts()
  const [row, isSeen] = useVisible<HTMLLIElement>()
  const what = useId()
  const isMigration = Object.values(operation.summary).some((kinds) => 'migrate' in kinds)
  return (
    <li
      ref={row}
      className={isTakenBack ? 'operation taken-back' : 'operation'}
      data-operation={operation.id}
    >
      {select !== undefined && (
        <input
          type="checkbox"
          aria-labelledby={what}
          checked={isSelected ?? false}
          onChange={() => select(operation.id)}
        />
      )}
      <div className="what">
        <p id={what}>
          <Actor actor={operation.actor} /> <OperationSentence operation={operation} isEnabled={isSeen} />{' '}
          <Marks operation={operation} isTakenBack={isTakenBack} />
        </p>
        <OnlyChange operation={operation} isEnabled={isSeen} />
        <Notes operation={operation} />
      </div>
      <Link href={`/operations/${operation.id}`} className="open">
        <When at={operation.at} />
      </Link>
      <Button
        icon={isTakenBack ? 'redo' : 'undo'}
        tone="plain"
        aria-label={isTakenBack ? texts.operations.redoThis : texts.operations.undoThis}
        disabled={isMigration}
        onClick={() => undo(undoingOf(operation, isTakenBack))}
      />
    </li>
  )
})

/** Badges: the types, and whether it is taken back. */
function Marks({ operation, isTakenBack }: { readonly operation: Operation; readonly isTakenBack: boolean }) {
  const texts = useTexts()
  const model = useModel()
  const counts = countsOf(operation)
  // "changed 4 rooms" names the type already.
  const types = rootType(counts, model) === undefined ? [] : new Set(counts.map(({ entity }) => entity))
  const label = (name: string) => {
    const type = model.entities.find((one) => one.name === name)
    return type === undefined ? name : labelOf(type)
  }
  const { undoes = [], undone_by = [], cause } = operation
  return (
    <span className="marks">
      {[...types].slice(0, 5).map((entity) => (
        <span key={entity} className="badge">
          {label(entity)}
          {operation.changes > 1 && ` ${countOf(counts, entity)}`}
        </span>
      ))}
      {undoes[0] !== undefined && (
        <Link href={`/operations/${undoes[0]}`} className="badge accent">
          {texts.operations.isUndo}
        </Link>
      )}
      {cause !== undefined && (
        <Link href={`/operations/${cause}`} className="badge">
          {texts.operations.setOff}
        </Link>
      )}
      {isTakenBack && undone_by[0] !== undefined && (
        <Link href={`/operations/${undone_by.at(-1)}`} className="badge good">
          {texts.operations.takenBack}
        </Link>
      )}
    </span>
  )
}

function countOf(counts: ReturnType<typeof countsOf>, entity: string): number {
  return counts.reduce((sum, one) => (one.entity === entity ? sum + one.count : sum), 0)
}

/** Shows what changed, if the operation changed only one Entity. */
function OnlyChange({
  operation,
  isEnabled,
}: {
  readonly operation: Operation
  readonly isEnabled: boolean
}) {
  const isOne = operation.changes === 1 && countsOf(operation)[0]?.kind === 'update'
  const [change] = useFirstChanges(operation.id, isEnabled && isOne) ?? []
  if (!isOne || change?.changed === null || change === undefined) return null
  const { entity, changed, secrets } = change
  return <ChangedValues entity={entity} changed={changed} secrets={secrets} most={3} />
}

function Notes({ operation: { reason, run } }: { readonly operation: Operation }) {
  const texts = useTexts()
  if (reason === undefined && run === undefined) return null
  return (
    <p className="notes muted">
      {reason !== undefined && <bdi>“{reason}”</bdi>}{' '}
      {run !== undefined && (
        <Link href={`/operations?run=${encodeURIComponent(run)}`} className="badge">
          {texts.operations.run} {run}
        </Link>
      )}
    </p>
  )
}
