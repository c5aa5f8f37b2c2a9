import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { type EntityData, get, type Page } from '../../api.ts'
import { useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import type { Literal } from '../../parts/filter/conditions.ts'
import { ValueInput } from '../../parts/filter/value-input.tsx'
import { useTexts } from '../../texts/index.ts'
import { canGoTo, type Order, orderOf } from './go-to.ts'
import type { ListPart } from './list-part.ts'
import { sortOf } from './view.ts'

type OrderProps = ListPart & { close(): void }

export default function OrderChoice(part: OrderProps) {
  const texts = useTexts()
  const order = orderOf(sortOf(part.view), part.columns.all, useModel())
  const go = (to: string | undefined) => {
    part.go(to)
    part.close()
  }
  return (
    <div className="order">
      <SortedBy {...part} order={order} />
      {order !== undefined && canGoTo(order.field) && (
        <GoTo key={order.path} {...part} order={order} go={go} />
      )}
      <div className="ends">
        <Button icon="up" tone="plain" onClick={() => go(undefined)}>
          {texts.list.toFirst}
        </Button>
        <Button icon="down" tone="plain" onClick={() => go('end')}>
          {texts.list.toLast}
        </Button>
      </div>
    </div>
  )
}

/** Chooses the sort, also by fields without a column, and on phones, which have no column heads. */
function SortedBy({ columns, change, order }: OrderProps & { readonly order: Order | undefined }) {
  const texts = useTexts()
  const id = useId()
  const isDown = order?.isDown === true
  return (
    <div className="sorted-by">
      <label htmlFor={id}>{texts.list.sortedBy}</label>
      <select id={id} value={order?.path ?? ''} onChange={({ target }) => change({ sort: target.value })}>
        {order === undefined && <option value="">…</option>}
        {columns.all
          .filter(({ sort }) => sort !== undefined)
          .map(({ path, sort, label }) => (
            <option key={path} value={sort}>
              {label}
            </option>
          ))}
      </select>
      <Button
        icon={isDown ? 'down' : 'up'}
        disabled={order === undefined}
        onClick={() => change({ sort: `${isDown ? '' : '-'}${order?.path}` })}
      >
        {isDown ? texts.list.descending : texts.list.ascending}
      </Button>
    </div>
  )
}

type GoToProps = OrderProps & { readonly order: Order }

/** Goes to the first row with a value, or to where it would be. */
function GoTo({ type, view, order, go }: GoToProps) {
  const texts = useTexts()
  const form = useRef<HTMLFormElement>(null)
  const [values, setValues] = useState<readonly Literal[]>([])
  useEffect(() => form.current?.querySelector('input')?.focus(), [])
  // For times, people enter the day.
  const field = order.field.type === 'datetime' ? { type: 'date' } : order.field
  const [value] = values
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (value !== undefined) go(JSON.stringify(await sought(value, type.name, order, view.at)))
  }
  return (
    <form ref={form} onSubmit={(event) => void submit(event)}>
      <span>{texts.list.goTo(order.label)}</span>
      <ValueInput field={field} operator="is" values={values} onChange={setValues} />
      <Button type="submit" tone="main" disabled={value === undefined}>
        {texts.list.go}
      </Button>
    </form>
  )
}

/** Converts the input to a value: a day in local time, or a name that may begin with a capital. */
async function sought(
  value: Literal,
  entity: string,
  order: Order,
  at: string | undefined,
): Promise<Literal> {
  const { path, isDown, field } = order
  if (field.type === 'datetime')
    return new Date(`${value}T${isDown ? '23:59:59.999' : '00:00:00.000'}`).toISOString()
  if (field.type !== 'text' || typeof value !== 'string' || field.sort === 'fold') return value
  const capital = value.charAt(0).toUpperCase() + value.slice(1)
  for (const spelling of new Set([value, capital])) {
    const filter = `${path}.startsWith(${JSON.stringify(spelling)})`
    const query = { filter, at, limit: 1, fields: 'id' }
    const found = await get<Page<EntityData>>(`${entity}/`, query).catch(() => undefined)
    if (found !== undefined && found.data.length > 0) return spelling
  }
  return value
}
