import { useId, useState } from 'react'
import { type Draft, type DraftObject, emptyObject, withDraft } from '../../form/draft.ts'
import { isEditable } from '../../form/editable.ts'
import { FieldRow } from '../../form/field.tsx'
import { type FormContext, FormProvider } from '../../form/form-context.ts'
import { sentValue } from '../../form/send.ts'
import { formatNumber } from '../../format.ts'
import { type EntityType, type Field, labelOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Bulk, Chosen } from './bulk.ts'
import { BulkButtons, BulkOutcome, useBulk } from './bulk-preview.tsx'

interface BulkDialogProps {
  readonly type: EntityType
  readonly chosen: Chosen
  readonly kind: Bulk['kind']
  /** How many are selected; undefined while they are counted. */
  readonly count: number | undefined
  onClose(): void
  /** Called after everything selected was changed. */
  onDone(): void
}

export default function BulkDialog(props: BulkDialogProps) {
  return props.kind === 'update' ? <EditAll {...props} /> : <RemoveAll {...props} kind={props.kind} />
}

/** Deletes or restores everything selected, after a preview. */
function RemoveAll({
  type,
  chosen,
  kind,
  count,
  onClose,
  onDone,
}: BulkDialogProps & { readonly kind: 'delete' | 'restore' }) {
  const texts = useTexts()
  const words = texts.list.bulk
  const [bulk] = useState<Bulk>({ kind })
  const doing = useBulk(chosen, bulk, (total) => words.done[kind](formatNumber(total)))
  return (
    <Dialog
      title={useTitle(type, kind, count)}
      wide
      onClose={onClose}
      actions={
        <BulkButtons
          doing={doing}
          text={words.do[kind]}
          tone={kind === 'delete' ? 'danger' : 'main'}
          onClose={onClose}
          onDone={onDone}
        />
      }
    >
      <BulkOutcome doing={doing} />
      {kind === 'delete' && <p className="muted">{words.canUndo}</p>}
    </Dialog>
  )
}

/** "Delete 12 bookings?" */
function useTitle({ label, name }: EntityType, kind: Bulk['kind'], count: number | undefined): string {
  const words = useTexts().list.bulk
  return count === undefined
    ? words.title[kind]
    : words.ask[kind](count, formatNumber(count), label ?? name.replaceAll('_', ' '))
}

/** Sets one field of everything selected. */
function EditAll({ type, chosen, kind, count, onClose, onDone }: BulkDialogProps) {
  const texts = useTexts()
  const words = texts.list.bulk
  const [bulk, setBulk] = useState<Bulk>()
  const isMany = chosen.selection.isAll || chosen.selection.ids.size > 1
  const doing = useBulk(chosen, bulk, (total) => words.done.update(formatNumber(total)))
  return (
    <Dialog
      title={useTitle(type, kind, count)}
      wide
      onClose={onClose}
      actions={<BulkButtons doing={doing} text={words.do.update} onClose={onClose} onDone={onDone} />}
    >
      <OneField type={type} isMany={isMany} onChange={() => setBulk(undefined)} onShow={setBulk} />
      {bulk !== undefined && <BulkOutcome doing={doing} />}
    </Dialog>
  )
}

interface OneFieldProps {
  readonly type: EntityType
  /** Whether several are selected: a unique value cannot be given to them. */
  readonly isMany: boolean
  /** Called when the input has changed, so that the preview is out of date. */
  onChange(): void
  onShow(bulk: Bulk): void
}

function OneField({ type, isMany, onChange, onShow }: OneFieldProps) {
  const texts = useTexts()
  const words = texts.list.bulk
  const id = useId()
  const fields = type.fields.filter(
    (field) =>
      isEditable(field, 'edit') &&
      field.type !== 'password' &&
      field.type !== 'secret' &&
      !(isMany && field.unique),
  )
  const [field, setField] = useState<Field | undefined>(fields[0])
  const [draft, setDraft] = useState<DraftObject>(() => emptyObject(fields))
  if (field === undefined) return <p>{words.noField}</p>
  const change = (path: string, value: Draft) => {
    setDraft((was) => withDraft(was, path, value) as DraftObject)
    onChange()
  }
  const form: FormContext = { id, mode: 'edit', draft, change, errors: {}, notes: {}, changed: new Set() }
  return (
    <form
      className="edit-all"
      onSubmit={(event) => {
        event.preventDefault()
        const value = sentValue(field, draft.fields[field.name] ?? null) ?? null
        onShow({ kind: 'update', body: { [field.name]: value } })
      }}
    >
      <div className="field">
        <label htmlFor={`${id}-which`}>{words.field}</label>
        <select
          id={`${id}-which`}
          value={field.path}
          onChange={({ target }) => {
            setField(fields.find((one) => one.path === target.value))
            onChange()
          }}
        >
          {fields.map((one) => (
            <option key={one.path} value={one.path}>
              {labelOf(one)}
            </option>
          ))}
        </select>
      </div>
      <FormProvider value={form}>
        <FieldRow key={field.path} field={field} path={field.path} />
      </FormProvider>
      <Button type="submit">{words.show}</Button>
    </form>
  )
}
