import { createPortal } from 'react-dom'
import { labelOf, useEntityType } from '../model.ts'
import { Dialog } from '../parts/dialog.tsx'
import { useTexts } from '../texts/index.ts'
import { CreateForm } from './create-form.tsx'

interface CreateInPlaceProps {
  readonly entity: string
  /** The text that was searched for and not found. */
  readonly title: string
  onClose(): void
  onCreated(id: number): void
}

/** Creates the Entity that a reference needs, without leaving the form. */
export function CreateInPlace({ entity, title, onClose, onCreated }: CreateInPlaceProps) {
  const texts = useTexts()
  const type = useEntityType(entity)
  if (type === undefined) return null
  const like = type.title === null || type.title.includes('.') ? {} : { [type.title]: title }
  // A portal, because HTML does not allow a form inside a form.
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
