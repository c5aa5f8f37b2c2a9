import { useEffect, useReducer, useState } from 'react'
import { Link } from 'wouter'
import { type EntityData, send } from '../../api.ts'
import { explain, fieldErrors } from '../../explain.ts'
import { changedPaths, same } from '../../form/draft.ts'
import { Form } from '../../form/form.tsx'
import { useKeptDraft } from '../../form/kept-draft.ts'
import { KeptNotice } from '../../form/kept-notice.tsx'
import { useLeaving } from '../../form/leaving.tsx'
import { localErrors } from '../../form/local-errors.ts'
import { fieldsOf } from '../../form/offered.ts'
import { patchOf } from '../../form/send.ts'
import { Shown } from '../../form/shown.tsx'
import { openForm, reduceForm } from '../../form/state.ts'
import { type EntityType, labelOf, nameOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Page } from '../../parts/page.tsx'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'

export function EntityEditor({ type, data }: { readonly type: EntityType; readonly data: EntityData }) {
  const texts = useTexts()
  const write = useWrite()
  const { offered, shown } = fieldsOf(type, 'edit')
  const [state, dispatch] = useReducer(reduceForm, undefined, () => openForm(offered, data))
  const isDirty = !same(state.base, state.draft)
  const [kept, forget] = useKeptDraft(`${type.name}/${data.id}`, state)
  const leaving = useLeaving(isDirty)
  const [failure, setFailure] = useState<string>()
  useEffect(() => dispatch({ act: 'arrived', data }), [data])
  const save = async () => {
    const local = localErrors(state, texts, 'edit')
    dispatch({ act: 'wrong', errors: local })
    setFailure(undefined)
    if (!isDirty || Object.keys(local).length > 0) return
    const sent = state.draft
    try {
      const { body } = await write(texts.entity.saved(nameOf(type, data)), () =>
        send('PATCH', `${type.name}/${data.id}/`, {
          query: { base: state.version },
          body: patchOf(state.fields, state.base, sent),
        }),
      )
      dispatch({ act: 'saved', data: body as EntityData, sent })
      forget()
    } catch (error) {
      dispatch({ act: 'wrong', errors: fieldErrors(error) })
      if (Object.keys(fieldErrors(error)).length === 0) setFailure(explain(error, texts))
    }
  }
  return (
    <Page title={nameOf(type, data)} above={<Link href={`/${type.name}`}>{labelOf(type)}</Link>}>
      {leaving.dialog}
      <div className="entity">
        <Form
          mode="edit"
          label={nameOf(type, data)}
          state={state}
          dispatch={dispatch}
          onSave={() => void save()}
          failure={failure}
          notice={
            kept !== undefined && (
              <KeptNotice
                kept={kept}
                discard={forget}
                restore={() => {
                  dispatch({ act: 'restore', kept })
                  forget()
                }}
              />
            )
          }
        >
          {shown.map((field) => (
            <div className="field" key={field.name}>
              <span className="label">{labelOf(field)}</span>
              <div>
                <Shown kind={field} value={data[field.name]} />
              </div>
            </div>
          ))}
          <div className="form-actions">
            <Button type="submit" tone="main" keys="mod+enter" disabled={!isDirty}>
              {texts.save}
            </Button>
            {isDirty && (
              <Button tone="plain" onClick={() => dispatch({ act: 'discard' })}>
                {texts.entity.discard(changedPaths(state.fields, state.base, state.draft).length)}
              </Button>
            )}
          </div>
        </Form>
      </div>
    </Page>
  )
}
