import { useReducer, useRef, useState } from 'react'
import { type EntityData, type Json, send } from '../api.ts'
import { explain, fieldErrors } from '../explain.ts'
import { type EntityType, labelOf, nameOf } from '../model.ts'
import { createCall } from '../parts/api-call.ts'
import { ApiCode } from '../parts/api-code.tsx'
import { Button } from '../parts/button.tsx'
import { short } from '../parts/entity-name.tsx'
import { useTexts } from '../texts/index.ts'
import { useWrite } from '../writes.ts'
import { emptyObject, same } from './draft.ts'
import { fieldsOf } from './editable.ts'
import { Form } from './form.tsx'
import { useKeptDraft, withoutSecrets } from './kept-draft.ts'
import { KeptNotice } from './kept-notice.tsx'
import { localErrors } from './local-errors.ts'
import { bodyOf } from './send.ts'
import { type FormState, openForm, reduceForm } from './state.ts'
import { useLeaveGuard } from './use-leave-guard.tsx'

interface CreateFormProps {
  readonly type: EntityType
  /** The initial values. */
  readonly like?: Json | undefined
  onCreated(made: EntityData): void
  onCancel(): void
  /** The name under which the draft is stored. In a dialog it is not stored. */
  readonly keep?: string
}

/** A form for a new Entity. */
export function CreateForm({ type, like, onCreated, onCancel, keep }: CreateFormProps) {
  const texts = useTexts()
  const [state, dispatch] = useReducer(reduceForm, undefined, () => openNew(type, like))
  const [kept, forget] = useKeptDraft(keep ?? `${type.name}/in-place`, state)
  const leaving = useLeaveGuard(keep !== undefined && !same(state.base, state.draft))
  const { save, isSaving, failure } = useCreate(type, state, (errors) => dispatch({ act: 'wrong', errors }))
  const create = async () => {
    const made = await save()
    if (made === undefined) return
    forget()
    leaving.allow()
    onCreated(made)
  }
  const restore = () => {
    if (kept !== undefined) dispatch({ act: 'restore', kept })
    forget()
  }
  return (
    <Form
      mode="create"
      label={texts.entity.new(labelOf(type))}
      state={state}
      dispatch={dispatch}
      onSave={() => void create()}
      failure={failure}
      notice={
        kept !== undefined &&
        keep !== undefined && (
          <KeptNotice kept={kept} fields={state.fields} restore={restore} discard={forget} />
        )
      }
    >
      {leaving.dialog}
      <div className="form-actions">
        <Button type="submit" tone="main" keys="mod+enter" disabled={isSaving}>
          {texts.entity.create}
        </Button>
        <Button tone="plain" onClick={onCancel}>
          {texts.cancel}
        </Button>
        <ApiCode
          call={createCall(type.name, bodyOf(state.fields, withoutSecrets(state.fields, state.draft)))}
        />
      </div>
    </Form>
  )
}

/** The base is empty, so that every value that is filled in is sent. */
function openNew(type: EntityType, like: Json | undefined): FormState {
  const { editable } = fieldsOf(type, 'create')
  const filled = openForm(editable, like)
  return { ...filled, base: emptyObject(editable), version: undefined }
}

function useCreate(type: EntityType, state: FormState, wrong: (errors: FormState['errors']) => void) {
  const texts = useTexts()
  const write = useWrite()
  const [isSaving, setSaving] = useState(false)
  const [failure, setFailure] = useState<string>()
  // The idempotency key: however often the form is sent, it creates one Entity.
  const key = useRef(crypto.randomUUID())
  const save = async (): Promise<EntityData | undefined> => {
    if (isSaving) return undefined
    const local = localErrors(state, texts, 'create')
    wrong(local)
    setFailure(undefined)
    if (Object.keys(local).length > 0) return undefined
    setSaving(true)
    try {
      const body = bodyOf(state.fields, state.draft)
      const { body: made } = await write(
        (received) => texts.entity.created(short(nameOf(type, received.body as EntityData))),
        () => send('POST', `${type.name}/`, { body, options: { key: key.current } }),
      )
      return made as EntityData
    } catch (error) {
      wrong(fieldErrors(error, texts, type))
      if (Object.keys(fieldErrors(error)).length === 0) setFailure(explain(error, texts))
      return undefined
    } finally {
      setSaving(false)
    }
  }
  return { save, isSaving, failure }
}
