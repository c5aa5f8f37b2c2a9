import { useState } from 'react'
import { type Draft, draftAt } from '../../form/draft.ts'
import { sentValue } from '../../form/send.ts'
import { Shown } from '../../form/shown.tsx'
import type { FormAction, FormState } from '../../form/state.ts'
import { type EntityType, type Field, fieldAt, labelOf } from '../../model.ts'
import { Actor } from '../../parts/actor.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'
import { entriesOf, lastChange, useHistory } from './use-history.ts'

function DraftValue({ field, draft }: { readonly field: Field; readonly draft: Draft }) {
  return <Shown kind={field} value={sentValue(field, draft) ?? null} />
}

interface WhoProps {
  readonly type: EntityType
  readonly id: number
  readonly path: string
}

/** Shows who changed a field last, and when; nothing if the user may not see the history. */
function Who({ type, id, path }: WhoProps) {
  const { data } = useHistory(type.name, id, type.may.history !== false)
  const change = lastChange(entriesOf(data), path)
  if (change === undefined) return null
  return (
    <>
      <Actor actor={change.actor} /> <When at={change.at} />
    </>
  )
}

interface NotesProps {
  readonly type: EntityType
  readonly id: number
  readonly state: FormState
  dispatch(action: FormAction): void
}

/** Returns the notes for fields that others have changed meanwhile. */
export function notesOf({ type, id, state, dispatch }: NotesProps) {
  const updated = state.updated.map((path) => [
    path,
    <UpdatedNote key={path} type={type} id={id} path={path} />,
  ])
  const conflicts = Object.entries(state.conflicts).map(([path, { theirs }]) => [
    path,
    <ConflictNote
      key={path}
      type={type}
      id={id}
      path={path}
      field={fieldAt(state.fields, path)}
      theirs={theirs}
      settle={(isTheirs) => dispatch({ act: 'resolve', paths: [path], theirs: isTheirs ? [path] : [] })}
    />,
  ])
  return Object.fromEntries([...updated, ...conflicts])
}

function UpdatedNote(props: WhoProps) {
  const texts = useTexts()
  return (
    <p className="note" role="status">
      <Icon name="bolt" size={12} /> {texts.entity.conflict.updated} <Who {...props} />
    </p>
  )
}

interface ConflictNoteProps extends WhoProps {
  readonly field: Field | undefined
  readonly theirs: Draft
  settle(isTheirs: boolean): void
}

function ConflictNote({ field, theirs, settle, ...who }: ConflictNoteProps) {
  const texts = useTexts()
  return (
    <div className="note conflict" role="status">
      <Icon name="warn" size={12} /> {texts.entity.conflict.changed} <Who {...who} />
      {field !== undefined && <DraftValue field={field} draft={theirs} />}
      <span className="buttons">
        <Button onClick={() => settle(true)}>{texts.entity.conflict.takeTheirs}</Button>
        <Button onClick={() => settle(false)}>{texts.entity.conflict.keepYours}</Button>
      </span>
    </div>
  )
}

interface ConflictDialogProps {
  readonly type: EntityType
  readonly id: number
  readonly state: FormState
  onClose(): void
  /** `theirs` are the fields that take the values of others. */
  onDecide(theirs: readonly string[]): void
}

/** Shows fields that others have changed too, both values side by side, with a choice for each. */
export function ConflictDialog({ type, id, state, onClose, onDecide }: ConflictDialogProps) {
  const texts = useTexts()
  const [theirs, setTheirs] = useState<ReadonlySet<string>>(new Set())
  const choose = (path: string, isTheirs: boolean) => {
    const next = new Set(theirs)
    if (isTheirs) next.add(path)
    else next.delete(path)
    setTheirs(next)
  }
  return (
    <Dialog
      title={texts.entity.conflict.title}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{texts.entity.conflict.later}</Button>
          <Button tone="main" onClick={() => onDecide([...theirs])}>
            {texts.entity.conflict.save}
          </Button>
        </>
      }
    >
      <p>{texts.entity.conflict.intro}</p>
      {Object.keys(state.conflicts).map((path) => (
        <Choice
          key={path}
          who={{ type, id, path }}
          field={fieldAt(state.fields, path)}
          yours={draftAt(state.draft, path) ?? null}
          theirs={state.conflicts[path]?.theirs ?? null}
          isTheirs={theirs.has(path)}
          choose={(isTheirs) => choose(path, isTheirs)}
        />
      ))}
    </Dialog>
  )
}

interface ChoiceProps {
  readonly who: WhoProps
  readonly field: Field | undefined
  readonly yours: Draft
  readonly theirs: Draft
  readonly isTheirs: boolean
  choose(isTheirs: boolean): void
}

function Choice({ who, field, yours, theirs, isTheirs, choose }: ChoiceProps) {
  const texts = useTexts()
  if (field === undefined) return null
  const side = (isThis: boolean) => (
    <label className="side-by-side" key={String(isThis)}>
      <span>
        <input type="radio" name={who.path} checked={isTheirs === isThis} onChange={() => choose(isThis)} />{' '}
        {isThis ? texts.entity.conflict.theirs : texts.entity.conflict.yours} {isThis && <Who {...who} />}
      </span>
      <span className="card">
        <DraftValue field={field} draft={isThis ? theirs : yours} />
      </span>
    </label>
  )
  return (
    <fieldset className="conflict-choice">
      <legend>{labelOf(field)}</legend>
      {side(false)}
      {side(true)}
    </fieldset>
  )
}
