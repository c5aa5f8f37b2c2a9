import { useId } from 'react'
import { Forbidden } from '../api.ts'
import { explain } from '../explain.ts'
import { labelOf, useModel } from '../model.ts'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'
import { ChangedValues } from './changed-values.tsx'
import { Dialog } from './dialog.tsx'
import { EntityName } from './entity-name.tsx'
import { Icon } from './icon.tsx'
import { Loading } from './states.tsx'
import {
  conflictsOf,
  type UndoAnswer,
  type UndoChoices,
  type Undoing,
  useHasRest,
  useUndo,
} from './undo-preview-call.ts'
import { Conflicts, hasResolution } from './undo-preview-conflicts.tsx'

export type { Undoing }

interface UndoPreviewProps {
  readonly undoing: Undoing
  /** The title of the dialog. */
  readonly title?: string
  /** The label of the button. */
  readonly action?: string
  /** The text of the toast when it is done. */
  readonly done?: string
  onClose(): void
  /** Called with the operation that took it back. */
  onDone?(operation: string): void
}

/** Shows what an undo would do and its conflicts, then does exactly that. Used wherever an undo is offered. */
export function UndoPreview({ undoing, title, action, done, onClose, onDone }: UndoPreviewProps) {
  const texts = useTexts()
  const undo = useUndo(undoing, done ?? texts.operations.undo.done)
  const { preview, failure, choices } = undo
  const conflicts = conflictsOf(failure)
  const isEmpty = preview !== undefined && preview.total === 0
  const run = async () => {
    const operation = await undo.run()
    if (operation === null) return
    onClose()
    onDone?.(operation)
  }
  return (
    <Dialog
      title={title ?? texts.operations.undo.title(countOf(undoing))}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button
            tone="main"
            icon="undo"
            disabled={preview?.plan === undefined || isEmpty || undo.isBusy || undo.isFetching}
            onClick={() => void run()}
          >
            {choices.skip ? texts.operations.undo.doRest : (action ?? texts.operations.undo.do)}
          </Button>
        </>
      }
    >
      <div className="undo-preview">
        {undo.hasMoved && preview?.plan !== undefined && (
          <p className="notice warn" role="status">
            <Icon name="warn" /> {texts.operations.undo.changed}
          </p>
        )}
        {preview !== undefined && <Outcome preview={preview} more={() => void undo.more()} />}
        {failure !== null && failure !== undefined && <Refused failure={failure} />}
        {preview === undefined && !failure && <Loading />}
        <Choices
          choices={choices}
          conflicts={conflicts}
          effects={preview?.effects?.length ?? 0}
          undoing={undoing}
          choose={undo.choose}
        />
      </div>
    </Dialog>
  )
}

/** Returns how many operations are undone, if that is known. */
function countOf(undoing: Undoing): number | undefined {
  if ('filter' in undoing) return undefined
  return 'operations' in undoing ? undoing.operations.length : 1
}

const ORDER = ['restore', 'update', 'create', 'delete'] as const

function Outcome({ preview, more }: { readonly preview: UndoAnswer; more(): void }) {
  const texts = useTexts()
  const { changes, total, undone = 1, skipped = {}, next } = preview
  const words = texts.operations.undo
  const isPartial = next !== null && next !== undefined
  return (
    <>
      <p>{total === 0 ? words.nothing : words.intro(total)}</p>
      {undone > 1 && total > 0 && <p className="muted">{words.operations(undone)}</p>}
      {ORDER.map((kind) => {
        const some = changes.filter((one) => one.kind === kind)
        if (some.length === 0) return null
        return (
          <section key={kind} className={`outcome ${kind}`}>
            <h3>{words[kind](isPartial ? undefined : some.length)}</h3>
            <OutcomeOfTypes kind={kind} changes={some} />
          </section>
        )
      })}
      {isPartial && (
        <p>
          {words.shown(changes.length, total)} <Button onClick={more}>{words.more}</Button>
        </p>
      )}
      {Object.keys(skipped).length > 0 && (
        <section className="outcome skipped">
          <h3>{words.stays}</h3>
          <Conflicts errors={skipped} />
        </section>
      )}
    </>
  )
}

type Changes = UndoAnswer['changes']

/** A few Entities are listed; many are shown in one line per type. */
function OutcomeOfTypes({ kind, changes }: { readonly kind: string; readonly changes: Changes }) {
  const texts = useTexts()
  const { entities } = useModel()
  const groups = [...Map.groupBy(changes, ({ entity }) => entity)].sort(([, a], [, b]) => a.length - b.length)
  return groups.map(([entity, some]) => {
    const type = entities.find(({ name }) => name === entity)
    return (
      <div key={entity} className="of-type">
        <span className="muted">
          {type === undefined ? entity : labelOf(type)} {some.length > 1 && some.length}
        </span>
        <ul className={kind === 'update' ? '' : 'inline'}>
          {some.map((one) => (
            <li key={one.id}>
              <EntityName entity={one.entity} id={one.id} isBeside />
              {kind === 'update' && <ChangedValues entity={one.entity} changed={one.changed} most={8} />}
              {one.secrets !== undefined && (
                <p className="muted">{texts.operations.undo.secrets(one.secrets.join(', '))}</p>
              )}
            </li>
          ))}
        </ul>
      </div>
    )
  })
}

function Refused({ failure }: { readonly failure: unknown }) {
  const texts = useTexts()
  const conflicts = conflictsOf(failure)
  const hasConflicts = Object.keys(conflicts).length > 0
  return (
    <section className="outcome against" role="alert">
      <h3>
        <Icon name="warn" /> {hasConflicts ? texts.operations.undo.against : texts.errors.title}
      </h3>
      {hasConflicts && <Conflicts errors={conflicts} />}
      {!hasConflicts && (
        <p>{failure instanceof Forbidden ? texts.operations.undo.notYours : explain(failure, texts)}</p>
      )}
    </section>
  )
}

interface ChoicesProps {
  readonly choices: UndoChoices
  readonly conflicts: Readonly<Record<string, readonly string[]>>
  readonly effects: number
  readonly undoing: Undoing
  choose(change: Partial<UndoChoices>): void
}

/** Only choices that can help, or are set already. */
function Choices({ choices, conflicts, effects, undoing, choose }: ChoicesProps) {
  const texts = useTexts()
  const words = texts.operations.undo
  const against = Object.keys(conflicts).length > 0
  // An undo of one Entity cannot skip anything.
  const isStep = 'entity' in undoing
  const hasRest = useHasRest(undoing, choices, against && !isStep)
  const all: readonly [name: keyof UndoChoices, isOffered: boolean, text: string][] = [
    ['targets', hasResolution(conflicts, 'targets'), words.targets],
    ['dependents', hasResolution(conflicts, 'dependents'), words.dependents],
    ['skip', against && hasRest, words.skip],
    ['effects', effects > 0 && !isStep, words.withEffects(effects)],
  ]
  const offered = all.filter(([name, isOffered]) => isOffered || choices[name])
  const heading = useId()
  if (offered.length === 0) return null
  return (
    <fieldset className="choices" aria-labelledby={heading}>
      <legend id={heading}>{against ? words.againstIntro : words.choices}</legend>
      {offered.map(([name, , text]) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={choices[name]}
            onChange={(event) => choose({ [name]: event.target.checked })}
          />{' '}
          {text}
        </label>
      ))}
    </fieldset>
  )
}
