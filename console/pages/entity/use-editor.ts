import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useReducer, useState } from 'react'
import { ChangedMeanwhile, type EntityData, Gone, get, send } from '../../api.ts'
import { explain, fieldErrors } from '../../explain.ts'
import { fieldsOf } from '../../form/editable.ts'
import { localErrors } from '../../form/local-errors.ts'
import { patchOf } from '../../form/send.ts'
import { type FormState, openForm, reduceForm } from '../../form/state.ts'
import { type EntityType, nameOf } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'

/** The state of an Entity's form: the draft, saving, and changes by others meanwhile. */
export function useEditor(type: EntityType, data: EntityData) {
  const texts = useTexts()
  const write = useWrite()
  const queries = useQueryClient()
  const [state, dispatch] = useReducer(reduceForm, undefined, () =>
    openForm(fieldsOf(type, 'edit').editable, data),
  )
  const [failure, setFailure] = useState<string>()
  const [isSaving, setSaving] = useState(false)
  const [isDeciding, setDeciding] = useState(false)
  useEffect(() => dispatch({ act: 'arrived', data }), [data])
  const path = `${type.name}/${data.id}/`
  /** Somebody else saved first: their changes are merged into the form. */
  const catchUp = async () => {
    const fresh = await get<EntityData>(path)
    queries.setQueryData(['entity', type.name, data.id, { at: undefined }], fresh)
    dispatch({ act: 'arrived', data: fresh })
  }
  const patch = async (current: FormState) => {
    const sent = current.draft
    const { body } = await write(texts.entity.saved(nameOf(type, data)), () =>
      send('PATCH', path, {
        query: { base: current.version },
        body: patchOf(current.fields, current.base, sent),
      }),
    )
    const saved = body as EntityData
    queries.setQueryData(['entity', type.name, data.id, { at: undefined }], saved)
    dispatch({ act: 'saved', data: saved, sent })
  }
  const fail = async (error: unknown) => {
    if (error instanceof ChangedMeanwhile || error instanceof Gone) {
      await catchUp()
      setDeciding(error instanceof ChangedMeanwhile)
      return
    }
    dispatch({ act: 'wrong', errors: fieldErrors(error, texts, type) })
    if (Object.keys(fieldErrors(error)).length === 0) setFailure(explain(error, texts))
  }
  const save = async (current: FormState = state): Promise<boolean> => {
    const local = localErrors(current, texts, 'edit')
    dispatch({ act: 'wrong', errors: local })
    setFailure(undefined)
    if (isSaving || Object.keys(local).length > 0) return false
    if (Object.keys(current.conflicts).length > 0) {
      setDeciding(true)
      return false
    }
    setSaving(true)
    try {
      await patch(current)
      return true
    } catch (error) {
      await fail(error).catch((again) => setFailure(explain(again, texts)))
      return false
    } finally {
      setSaving(false)
    }
  }
  /** Ends the conflicts: fields in `theirs` take the values of others, the rest keep what was typed. */
  const decide = (theirs: readonly string[]) => {
    const action = { act: 'resolve', paths: Object.keys(state.conflicts), theirs } as const
    setDeciding(false)
    dispatch(action)
    void save(reduceForm(state, action))
  }
  return { state, dispatch, save, failure, isSaving, isDeciding, leaveOpen: () => setDeciding(false), decide }
}
