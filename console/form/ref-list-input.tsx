import { type KeyboardEvent, useState } from 'react'
import { Link } from 'wouter'
import { useName } from '../names.ts'
import { Button } from '../parts/button.tsx'
import { useTexts } from '../texts/index.ts'
import { Combobox } from './combobox.tsx'
import type { ControlProps } from './control-props.ts'
import { CreateInPlace } from './create-in-place.tsx'
import { isRef, itemOf } from './draft.ts'
import { Messages } from './field.tsx'
import { useForm } from './form-context.ts'
import { useItems } from './list-input.tsx'

/** An input for a list of references, as chips. They are moved with Alt and the arrow keys, or with the pointer. */
export function RefListInput({ kind, path, id, label, describedBy, isWrong }: ControlProps) {
  const texts = useTexts()
  const { items, add, remove, move } = useItems(path)
  const [created, setCreated] = useState<string>()
  const [dragged, setDragged] = useState<number>()
  const to = kind.items?.to ?? kind.to
  if (!to) return <p className="hint">{texts.entity.ref.hidden}</p>
  const ids = items.flatMap(({ value }) => (isRef(value) ? [value.ref] : []))
  const isFull = kind.max !== undefined && items.length >= Number(kind.max)
  return (
    <>
      {ids.length > 0 && (
        <ol className="chips">
          {ids.map((of, at) => (
            <Chip
              key={of}
              to={to}
              of={of}
              path={`${path}.${at}`}
              remove={() => remove(at)}
              move={(step) => move(at, at + step)}
              drag={() => setDragged(at)}
              drop={() => dragged !== undefined && move(dragged, at)}
            />
          ))}
        </ol>
      )}
      {!isFull && (
        <Combobox
          to={to}
          id={id}
          label={texts.entity.addItem(label)}
          describedBy={describedBy}
          isWrong={isWrong}
          placeholder={texts.entity.ref.add}
          without={ids}
          onChoose={(ref) => add(itemOf({ ref }))}
          onCreate={setCreated}
        />
      )}
      {created !== undefined && (
        <CreateInPlace
          entity={to}
          title={created}
          onClose={() => setCreated(undefined)}
          onCreated={(ref) => add(itemOf({ ref }))}
        />
      )}
    </>
  )
}

interface ChipProps {
  readonly to: string
  readonly of: number
  readonly path: string
  remove(): void
  move(step: number): void
  drag(): void
  drop(): void
}

function Chip({ to, of, path, remove, move, drag, drop }: ChipProps) {
  const texts = useTexts()
  const form = useForm()
  const { name } = useName(to, of)
  const wrong = form.errors[path] ?? []
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (event.key === 'Delete' || event.key === 'Backspace') remove()
    else if (event.altKey && step !== undefined) move(step)
    else return
    event.preventDefault()
  }
  return (
    <li
      className={wrong.length > 0 ? 'chip wrong-border' : 'chip'}
      draggable
      onDragStart={drag}
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
    >
      <Link href={`/${to}/${of}`} dir="auto" draggable={false}>
        {name}
      </Link>
      <Button
        tone="plain"
        icon="close"
        aria-label={texts.entity.removeItem(name)}
        title={texts.entity.ref.moveHint}
        onClick={remove}
        onKeyDown={press}
      />
      <Messages id={`${form.id}-${path}-wrong`} messages={wrong} />
    </li>
  )
}
