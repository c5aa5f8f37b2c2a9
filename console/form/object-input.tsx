import { Button } from '../parts/button.tsx'
import { useTexts } from '../texts/index.ts'
import type { ControlProps } from './control-props.ts'
import { emptyObject, isObject } from './draft.ts'
import { isEditable } from './editable.ts'
import { FieldRow } from './field.tsx'
import { useDraft, useForm } from './form-context.ts'

/** The fields of an object, or a button that adds the object. */
export function ObjectInput({ kind, path, id, label }: ControlProps) {
  const texts = useTexts()
  const { mode } = useForm()
  const [draft, change] = useDraft(path)
  const fields = (kind.fields ?? []).filter((field) => isEditable(field, mode))
  if (!isObject(draft))
    return (
      <div>
        <Button id={id} icon="plus" onClick={() => change(emptyObject(kind.fields ?? []))}>
          {texts.entity.addObject(label)}
        </Button>
      </div>
    )
  return (
    <div className="nested">
      <div className="fields">
        {fields.map((field) => (
          <FieldRow key={field.name} field={field} path={`${path}.${field.name}`} />
        ))}
      </div>
      {kind.nullable && (
        <Button tone="plain" icon="close" onClick={() => change(null)}>
          {texts.entity.removeObject(label)}
        </Button>
      )}
    </div>
  )
}
