import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import type { EntityData, Json } from '../../api.ts'
import { changedPaths } from '../../form/draft.ts'
import { fieldsOf } from '../../form/editable.ts'
import { Form } from '../../form/form.tsx'
import { useKeptDraft, withoutSecrets } from '../../form/kept-draft.ts'
import { KeptNotice } from '../../form/kept-notice.tsx'
import { patchOf } from '../../form/send.ts'
import { Shown } from '../../form/shown.tsx'
import { useLeaveGuard } from '../../form/use-leave-guard.tsx'
import { type EntityType, labelOf, nameOf } from '../../model.ts'
import { readCall, updateCall } from '../../parts/api-call.ts'
import { ApiCode } from '../../parts/api-code.tsx'
import { Button } from '../../parts/button.tsx'
import { useKeys } from '../../parts/keys.tsx'
import { type Command, useCommands } from '../../parts/palette.tsx'
import { Removal } from '../../parts/removal.tsx'
import { useTexts } from '../../texts/index.ts'
import { ConflictDialog, notesOf } from './conflicts.tsx'
import { DeletedBanner, DeletedEntity } from './deleted.tsx'
import { EntityFrame, ShownFields } from './frame.tsx'
import { useEditor } from './use-editor.ts'
import { useMay } from './use-may.ts'

interface EditorProps {
  readonly type: EntityType
  readonly data: EntityData
}

/** The form of an Entity as it is now. */
export function EntityEditor({ type, data }: EditorProps) {
  const editor = useEditor(type, data)
  const { state } = editor
  const may = useMay(type, data.id)
  const changes = changedPaths(state.fields, state.base, state.draft).length
  const [isDeleting, setDeleting] = useState(false)
  const [, navigate] = useLocation()
  const leaving = useLeaveGuard(changes > 0)
  const isDeleted = typeof data.deleted_at === 'string'
  useEntityActions({ type, data, may, remove: () => setDeleting(true) })
  // Unsaved input stays on the page, even if others delete the Entity.
  if (isDeleted && changes === 0) return <DeletedEntity type={type} data={data} />
  return (
    <EntityFrame
      type={type}
      data={data}
      mayRevert={may.update}
      banner={isDeleted && <DeletedBanner type={type} data={data} />}
      actions={
        !isDeleted && (
          <Actions
            type={type}
            data={data}
            may={may}
            remove={() => setDeleting(true)}
            patch={patchOf(state.fields, state.base, withoutSecrets(state.fields, state.draft))}
          />
        )
      }
    >
      {leaving.dialog}
      {may.update ? (
        <EditorForm type={type} data={data} editor={editor} changes={changes} />
      ) : (
        <ShownFields type={type} data={data} />
      )}
      {editor.isDeciding && (
        <ConflictDialog
          type={type}
          id={data.id}
          state={state}
          onClose={editor.leaveOpen}
          onDecide={editor.decide}
        />
      )}
      {isDeleting && (
        <Removal
          target={{ entity: type.name, id: data.id, kind: 'delete' }}
          name={nameOf(type, data)}
          onClose={() => setDeleting(false)}
          onDone={() => {
            leaving.allow()
            navigate(`/${type.name}`)
          }}
        />
      )}
    </EntityFrame>
  )
}

interface EditorFormProps extends EditorProps {
  readonly editor: ReturnType<typeof useEditor>
  readonly changes: number
}

function EditorForm({ type, data, editor, changes }: EditorFormProps) {
  const texts = useTexts()
  const { state, dispatch } = editor
  const [kept, forget] = useKeptDraft(`${type.name}/${data.id}`, state)
  const notes = useMemo(
    () => notesOf({ type, id: data.id, state, dispatch }),
    [type, data.id, state, dispatch],
  )
  const save = async () => {
    if (changes > 0 && (await editor.save())) forget()
  }
  const restore = () => {
    if (kept !== undefined) dispatch({ act: 'restore', kept })
    forget()
  }
  return (
    <Form
      mode="edit"
      label={nameOf(type, data)}
      state={state}
      dispatch={dispatch}
      onSave={() => void save()}
      failure={editor.failure}
      notes={notes}
      notice={
        kept !== undefined && (
          <KeptNotice kept={kept} fields={state.fields} restore={restore} discard={forget} />
        )
      }
    >
      <ReadOnly type={type} data={data} />
      <div className={changes > 0 ? 'form-actions' : 'form-actions idle'}>
        <Button type="submit" tone="main" keys="mod+enter" disabled={changes === 0 || editor.isSaving}>
          {texts.save}
        </Button>
        {changes > 0 && (
          <Button tone="plain" onClick={() => dispatch({ act: 'discard' })}>
            {texts.entity.discard(changes)}
          </Button>
        )}
      </div>
    </Form>
  )
}

/** Fields that the user cannot fill in: computed, set by the server, or not theirs to change. */
function ReadOnly({ type, data }: EditorProps) {
  const shown = fieldsOf(type, 'edit').shown.filter(({ name }) => name in data)
  if (shown.length === 0) return null
  return (
    <dl className="shown-fields compact">
      {shown.map((field) => (
        <div key={field.name}>
          <dt title={field.description ?? undefined}>{labelOf(field)}</dt>
          <dd>
            <Shown kind={field} value={data[field.name]} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface ActionProps extends EditorProps {
  readonly may: ReturnType<typeof useMay>
  remove(): void
}

function Actions({ type, data, may, remove, patch }: ActionProps & { readonly patch: Json }) {
  const texts = useTexts()
  const [, navigate] = useLocation()
  const isChanged = Object.keys(patch).length > 0
  const call = isChanged ? updateCall(type.name, data.id, patch) : readCall(type.name, data.id)
  return (
    <>
      <ApiCode call={call} />
      {type.may.create !== false && (
        <Button icon="copy" onClick={() => navigate(`/${type.name}/new?like=${data.id}`)}>
          {texts.entity.duplicate}
        </Button>
      )}
      {may.delete && (
        <Button icon="trash" keys="backspace" onClick={remove}>
          {texts.remove.delete.do}
        </Button>
      )}
    </>
  )
}

/** Makes the actions available by keyboard, and by name in ⌘K. */
function useEntityActions({ type, data, may, remove }: ActionProps): void {
  const texts = useTexts()
  const [, navigate] = useLocation()
  const latest = useRef(remove)
  useEffect(() => {
    latest.current = remove
  })
  useKeys({
    ...(may.delete && { backspace: remove }),
    ...(may.update && { e: focusFirst }),
  })
  const name = nameOf(type, data)
  const commands = useMemo((): Command[] => {
    const command = (id: string, title: string, more: Partial<Command> & Pick<Command, 'run'>): Command => ({
      id,
      title,
      group: name,
      ...more,
    })
    const toHistory = () => document.getElementById('history')?.focus()
    const copy = () => navigate(`/${type.name}/new?like=${data.id}`)
    return [
      ...(may.update
        ? [command('edit', texts.entity.edit, { icon: 'edit', keys: 'e', run: focusFirst })]
        : []),
      ...(may.delete
        ? [
            command('delete', texts.remove.delete.do, {
              icon: 'trash',
              keys: 'backspace',
              run: () => latest.current(),
            }),
          ]
        : []),
      ...(type.may.create === false
        ? []
        : [command('duplicate', texts.entity.duplicate, { icon: 'copy', run: copy })]),
      ...(type.may.history === false
        ? []
        : [command('history', texts.history.title, { icon: 'history', keys: 'h', run: toHistory })]),
    ]
  }, [texts, type, data.id, name, may.update, may.delete, navigate])
  useCommands(commands)
}

function focusFirst(): void {
  document.querySelector<HTMLElement>('.entity-form :is(input, textarea, select, .chosen-name)')?.focus()
}
