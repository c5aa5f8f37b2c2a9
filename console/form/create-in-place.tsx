import { createPortal } from 'react-dom'
import { labelOf, useEntityType } from '../model.ts'
import { Dialog } from '../parts/dialog.tsx'
import { useTexts } from '../texts/index.ts'
import { CreateForm } from './create-form.tsx'

interface CreateInPlaceProps {
  readonly entity: string
  /** What somebody searched for, and did not find. */
  readonly title: string
  onClose(): void
  onCreated(id: number): void
}

/** Makes what a reference is to refer to, without leaving the form. */
export function CreateInPlace({ entity, title, onClose, onCreated }: CreateInPlaceProps) {
  const texts = useTexts()
  const type = useEntityType(entity)
  if (type === undefined) return null
  const like = type.title === null || type.title.includes('.') ? {} : { [type.title]: title }
  // Not inside the form around it: HTML has no forms in forms.
  return createPortal(
    <Dialog title={texts.entity.new(labelOf(type))} onClose={onClose} wide>
      <CreateForm
        type={type}
        like={like}
        onCancel={onClose}
        onCreated={({ id }) => {
          onCreated(id)
          onClose()
        }}
      />
    </Dialog>,
    document.body,
  )
}
