import { formatDate, formatNumber, formatTime } from '../format.ts'
import { type Item, labelOf } from '../model.ts'
import { EntityName } from '../parts/entity-name.tsx'
import { useTexts } from '../texts/index.ts'

/** A read-only value. */
export function Shown({ kind, value }: { readonly kind: Item; readonly value: unknown }) {
  const texts = useTexts()
  if (value === null || value === undefined) return <span className="muted">—</span>
  switch (kind.type) {
    case 'boolean':
      return value === true ? texts.entity.yes : texts.entity.no
    case 'date':
      return formatDate(String(value))
    case 'datetime':
      return formatTime(String(value))
    case 'integer':
    case 'number':
      return typeof value === 'number' ? formatNumber(value) : String(value)
    case 'url':
      return <SafeLink url={String(value)} />
    case 'ref':
      return <ShownRef kind={kind} value={value} />
    case 'object':
      return <ShownObject kind={kind} value={value} />
    case 'list':
      return <ShownList kind={kind} value={value} />
    case 'json':
      return <pre className="shown-json">{JSON.stringify(value, null, 2)}</pre>
    default:
      return (
        <span className="shown-text" dir="auto">
          {String(value)}
        </span>
      )
  }
}

/** URLs come from users: only web addresses become links. */
export function SafeLink({ url }: { readonly url: string }) {
  if (!/^https?:\/\//i.test(url)) return <span>{url}</span>
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  )
}

function ShownRef({ kind, value }: { readonly kind: Item; readonly value: unknown }) {
  const id = typeof value === 'object' && value !== null ? Number(Reflect.get(value, 'id')) : Number(value)
  return kind.to ? <EntityName entity={kind.to} id={id} /> : <span>{id}</span>
}

function ShownObject({ kind, value }: { readonly kind: Item; readonly value: unknown }) {
  if (typeof value !== 'object' || value === null) return null
  return (
    <dl className="shown-object">
      {(kind.fields ?? [])
        .filter(({ name }) => name in value)
        .map((field) => (
          <div key={field.name}>
            <dt>{labelOf(field)}</dt>
            <dd>
              <Shown kind={field} value={Reflect.get(value, field.name)} />
            </dd>
          </div>
        ))}
    </dl>
  )
}

function ShownList({ kind, value }: { readonly kind: Item; readonly value: unknown }) {
  const { items } = kind
  if (!Array.isArray(value) || items === undefined) return null
  if (value.length === 0) return <span className="muted">—</span>
  return (
    <ol className="shown-list">
      {value.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: values of the past, which stay where they are.
        <li key={at}>
          <Shown kind={items} value={one} />
        </li>
      ))}
    </ol>
  )
}
