import { type KeyboardEvent, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { useTexts } from '../texts/index.ts'
import type { ControlProps } from './control-props.ts'
import { type DraftItem, emptyOf, isList, itemOf } from './draft.ts'
import { Control, Messages } from './field.tsx'
import { useDraft, useForm } from './form-context.ts'

/** Returns the items of a list, and functions that change them. */
export function useItems(path: string) {
  const [draft, change] = useDraft(path)
  const items = isList(draft) ? draft.items : []
  const set = (next: readonly DraftItem[]) => change({ items: next })
  return {
    items,
    add: (item: DraftItem) => set([...items, item]),
    remove: (at: number) => set(items.filter((_, index) => index !== at)),
    move(from: number, to: number) {
      const item = items[from]
      if (item === undefined || to < 0 || to >= items.length) return
      set(items.filter((_, index) => index !== from).toSpliced(to, 0, item))
    },
  }
}

/** An input for a list of values or of objects: items are added, removed, and moved by keyboard or pointer. */
export function ListInput(props: ControlProps) {
  const { kind, path, id, label } = props
  const texts = useTexts()
  const { items, add, remove, move } = useItems(path)
  const [dragged, setDragged] = useState<number>()
  const list = useRef<HTMLOListElement>(null)
  const { items: item } = kind
  if (item === undefined) return null
  const isFull = kind.max !== undefined && items.length >= Number(kind.max)
  const append = () => {
    add(itemOf(item.type === 'object' ? emptyOf({ ...item, nullable: false }) : emptyOf(item)))
    // Later, when the item is on the page.
    setTimeout(() =>
      list.current?.lastElementChild?.querySelector<HTMLElement>('input, select, textarea')?.focus(),
    )
  }
  return (
    <>
      <ol className="items" ref={list}>
        {items.map(({ key }, at) => (
          <ListRow
            key={key}
            {...props}
            at={at}
            count={items.length}
            isDragged={dragged === at}
            remove={() => remove(at)}
            move={(to) => move(at, to)}
            drag={() => setDragged(at)}
            drop={() => {
              if (dragged !== undefined) move(dragged, at)
              setDragged(undefined)
            }}
          />
        ))}
      </ol>
      <div>
        <Button id={id} icon="plus" disabled={isFull} onClick={append}>
          {texts.entity.addItem(label)}
        </Button>
      </div>
    </>
  )
}

interface ListRowProps extends ControlProps {
  readonly at: number
  readonly count: number
  readonly isDragged: boolean
  remove(): void
  move(to: number): void
  drag(): void
  drop(): void
}

function ListRow({ kind, path, id, label, at, count, isDragged, ...act }: ListRowProps) {
  const texts = useTexts()
  const form = useForm()
  const { items: item } = kind
  if (item === undefined) return null
  const own = `${path}.${at}`
  const wrong = form.errors[own] ?? []
  const name = texts.entity.item(label, at + 1)
  const press = (event: KeyboardEvent) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    act.move(at + step)
  }
  return (
    <li
      className={isDragged ? 'dragged' : undefined}
      onDragOver={(event) => event.preventDefault()}
      onDrop={act.drop}
    >
      <Button
        tone="plain"
        icon="more"
        className="handle"
        aria-label={texts.entity.move(at + 1, count)}
        draggable
        onDragStart={act.drag}
        onKeyDown={press}
      />
      <div className="item">
        <Control
          kind={item}
          path={own}
          id={`${id}-${at}`}
          label={name}
          describedBy={wrong.length > 0 ? `${id}-${at}-wrong` : undefined}
          isWrong={wrong.length > 0}
        />
        <Messages id={`${id}-${at}-wrong`} messages={wrong} />
      </div>
      <Button tone="plain" icon="close" aria-label={texts.entity.removeItem(name)} onClick={act.remove} />
    </li>
  )
}
